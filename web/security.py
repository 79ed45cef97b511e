"""Who may see the pages: one local user, through one browser, on hosts named beforehand.

A random token stands in the start-up URL; the first request swaps it for an HttpOnly, SameSite=Strict cookie and
redirects to the URL without it. Requests for other host names are refused (DNS rebinding), and what changes something
has to come from a form of these pages: from this origin, with the token the form carries. Pages may load nothing but
their own style sheet and pictures: no scripts, no frames, no other origin.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from urllib.parse import urlencode, urlsplit

from flask import Flask, Response, abort, redirect, request
from werkzeug.wrappers import Response as AnyResponse

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Checks every request of an application and sets the headers of every response."""

    def __init__(self, token: str | None, hosts: Collection[str]) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._hosts = {host.lower() for host in hosts}
        self._session = secrets.token_urlsafe(32)
        #: what forms carry, so that no other site can send one
        self.form_token = secrets.token_urlsafe(32)
        # Cookies are shared by all ports of a host, so each application has a name of its own.
        self._cookie = f"precdiff-{hashlib.sha256(self.token.encode()).hexdigest()[:8]}"

    def protect(self, app: Flask) -> None:
        """Put the guard in front of an application."""
        app.before_request(self._check)
        app.context_processor(lambda: {"form_token": self.form_token})
        app.after_request(self._set_headers)

    def _check(self) -> AnyResponse | None:
        if _host_name(request.host) not in self._hosts:
            abort(400, f"host {request.host!r} is not served here; allowed: {', '.join(sorted(self._hosts))}")
        if request.endpoint == "static":
            return None
        given = request.args.get("token")
        if given is not None and secrets.compare_digest(given.encode(), self.token.encode()):
            return self._let_in()
        if not secrets.compare_digest(request.cookies.get(self._cookie, "").encode(), self._session.encode()):
            abort(401, "open the URL that `precdiff serve` printed at start-up: it carries the token for this browser")
        if request.method not in ("GET", "HEAD", "OPTIONS") and request.routing_exception is None:
            self._check_form()
        return None

    def _check_form(self) -> None:
        """403 unless the request comes from a form of these pages."""
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "same-origin")
        if site not in ("same-origin", "none") or (origin is not None and urlsplit(origin).netloc != request.host):
            abort(403, f"this came from another site ({origin or site}); only these pages may change something")
        if not secrets.compare_digest(request.form.get("form_token", "").encode(), self.form_token.encode()):
            abort(403, "the form is of another start of the server, or not of these pages; load the page again")

    def _let_in(self) -> AnyResponse:
        """Swap the token for a cookie, and the URL for one without it."""
        others = [(key, value) for key, value in request.args.items(multi=True) if key != "token"]
        response = redirect(request.path + (f"?{urlencode(others)}" if others else ""), 303)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict", secure=request.is_secure)
        return response

    def _set_headers(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if request.endpoint != "static":
            response.headers["Cache-Control"] = "no-store"
        return response


def _host_name(host: str) -> str:
    """The name in a Host header, without port and IPv6 brackets.

    >>> _host_name("[::1]:8000"), _host_name("LOCALHOST:80"), _host_name("a]b")
    ('::1', 'localhost', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
