"""The reports of a test run: results.json (precdiff.results/1) and a page that needs nothing but itself.

Texts come from the one message maker; this file only lays them out.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SCHEMA = "precdiff.results/1"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "pre{overflow:auto;padding:.75rem;border:1px solid #8886}table{border-collapse:collapse}"
    "td,th{text-align:left;padding:.2rem .8rem;border-bottom:1px solid #8886}.fail{color:#b3261e}.pass{color:#1a6b2f}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}.fail{color:#ff8a80}.pass{color:#81c995}}"
)


def write_reports(
    folder: Path, wanted: Sequence[str], tests: Mapping[str, Any], orphans: Sequence[Mapping[str, Any]]
) -> list[Path]:
    """Write what was asked for; give back the files."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = {"json": ("results.json", _document), "html": ("results.html", _page)}
    made = []
    for name in dict.fromkeys(wanted):
        file, make = makers[name]
        path = folder / file
        part = path.with_name(f".{file}.part")
        part.write_text(make(tests, orphans), encoding="utf-8")
        part.replace(path)
        made.append(path)
    return made


def _document(tests: Mapping[str, Any], orphans: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        {"test": name, **told, "reports": [_comparison(row) for row in told["reports"]]} for name, told in tests.items()
    ]
    return json.dumps({"schema": SCHEMA, "tests": rows, "orphans": list(orphans)}, indent=1, allow_nan=False) + "\n"


def _comparison(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("name", "verdict", "cause", "dump", "report")}


def _page(tests: Mapping[str, Any], orphans: Sequence[Mapping[str, Any]]) -> str:
    found = [(test, row) for test, told in tests.items() for row in told["reports"]]
    found.sort(key=lambda pair: (pair[1]["verdict"] == "pass", -pair[1]["max_ulp"]))
    failing = sum(row["verdict"] != "pass" for _, row in found)
    title = f"precdiff: {failing} of {len(found)} comparisons do not pass"
    cells = "".join(map(_table_row, enumerate(found)))
    details = "".join(_details(number, test, row) for number, (test, row) in enumerate(found))
    unused = "".join(f"<li>{html.escape(row['path'])}: {html.escape(row['why'])}</li>" for row in orphans)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1><table><tr><th>test<th>comparison<th>verdict<th>worst ULP<th>cause</tr>{cells}</table>"
        f"{f'<h2>Baselines nobody uses</h2><ul>{unused}</ul>' if unused else ''}{details}</html>\n"
    )


def _table_row(numbered: tuple[int, tuple[str, Mapping[str, Any]]]) -> str:
    number, (test, row) = numbered
    worst = f"{row['max_ulp']:.4g}" if row["max_ulp"] >= 0.0 else "-"
    cells = (
        html.escape(row["name"]),
        f'<span class="{row["verdict"]}">{row["verdict"]}</span>',
        worst,
        html.escape(row["cause"]),
    )
    return f'<tr><td><a href="#c{number}">{html.escape(test)}</a>' + "".join(f"<td>{cell}" for cell in cells) + "</tr>"


def _details(number: int, test: str, row: Mapping[str, Any]) -> str:
    dump = f"<p>Dump: <code>{html.escape(row['dump'])}</code></p>" if row["dump"] else ""
    head = f"{html.escape(test)}: {html.escape(row['name'])}"
    return f'<h2 id="c{number}">{head}</h2>{dump}<pre>{html.escape(row["text"])}</pre>'
