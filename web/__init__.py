"""The review pages (Flask), imported as precdiff.web although the folder lies beside precdiff/ (setup.py).

Modules in here import one another relatively, so that `mypy web` can follow them, and precdiff by its full name.
Read app.py (what an app is made of), security.py, library.py (the folder shown), pages.py.
"""

from .app import create_app, start_url

__all__ = ["create_app", "start_url"]
