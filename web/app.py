"""The application factory: a folder of results and dumps, made into pages for one reviewer.

No numerics here or in the pages: every sentence and number comes from precdiff.report's row makers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask
from jinja2 import StrictUndefined

from precdiff.errors import FileError

from .library import Library
from .pages import pages
from .reviewing import reviewing
from .security import Guard

DEFAULTS: dict[str, Any] = {
    "TOKEN": None,  # generated where it is not given
    "HOSTS": ("127.0.0.1", "localhost", "::1"),
    "MAX_REPORT_BYTES": 64 * 2**20,
    "MAX_DUMP_BYTES": 4 * 2**30,
    "MAX_ENTRIES": 2000,
    "MAX_CONTENT_LENGTH": 2**20,  # of a request
}


def create_app(dump_root: str | Path, config: Mapping[str, Any] | None = None) -> Flask:
    """Make the application that shows what lies under `dump_root`; `config` overrides DEFAULTS.

    >>> create_app(".", {"TOKEN": "secret"}).name
    'precdiff.web'
    """
    root = Path(dump_root)
    if not root.is_dir():
        raise FileError(f"there is no folder {str(dump_root)!r} to serve; pass the folder that holds dumps and results")
    app = Flask("precdiff.web", root_path=str(Path(__file__).parent))
    app.config.from_mapping({**DEFAULTS, **(config or {})})
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    limits = {name: app.config[name] for name in ("MAX_REPORT_BYTES", "MAX_DUMP_BYTES", "MAX_ENTRIES")}
    app.extensions["precdiff.library"] = Library(root, **{name.lower(): value for name, value in limits.items()})
    guard = Guard(app.config["TOKEN"], app.config["HOSTS"])
    guard.protect(app)
    app.config["TOKEN"] = guard.token
    app.register_blueprint(pages)
    app.register_blueprint(reviewing)
    return app


def start_url(app: Flask, host: str, port: int) -> str:
    """The URL to print at start-up: opening it once lets this browser in.

    >>> start_url(create_app(".", {"TOKEN": "secret"}), "::1", 8000)
    'http://[::1]:8000/?token=secret'
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={app.config['TOKEN']}"
