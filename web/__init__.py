"""The review pages (Flask), imported as precdiff.web although the folder lies beside precdiff/ (setup.py).

Modules in here import one another relatively, so that `mypy web` can follow them, and precdiff by its full name.
"""
