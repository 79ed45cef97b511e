"""`precdiff serve`: the review pages in the browser."""

from __future__ import annotations

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal
from precdiff.errors import PrecDiffError


@subcommand
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
def command(terminal: Terminal, folder: str, host: str, port: int) -> int:
    """Show dumps and reports in the browser.

    Those in DIR. Prints the URL to open; its token lets this browser in. Ctrl-C ends it.
    """
    import socket

    import waitress

    from precdiff.web.app import DEFAULTS, create_app, start_url

    app = create_app(folder, {"HOSTS": (*DEFAULTS["HOSTS"], host)})
    try:
        host.encode("idna")  # as create_server does, which leaves its socket open where that fails
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        raise PrecDiffError(
            f"cannot listen on {host}:{port}: {error}. Choose another --port; 0 takes a free one."
        ) from None
    url = start_url(app, host, listening.getsockname()[1])
    terminal.say(f"{folder}: open {url}   (Ctrl-C ends it)")
    terminal.document({"schema": "precdiff.serve/1", "folder": folder, "url": url})
    with listening:
        waitress.serve(app, sockets=[listening], _quiet=True)
    return 0
