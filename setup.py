"""The package list: every folder of precdiff/, and web/ under the name precdiff.web; all else is in pyproject.toml.

pyproject.toml can state either a search or a list of packages, not both. A list would have to be kept by hand.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["precdiff", "precdiff.*"]),
        "precdiff.web",
        *(f"precdiff.web.{name}" for name in find_packages("web")),
    ]
)
