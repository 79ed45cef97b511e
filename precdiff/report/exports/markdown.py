r"""Markdown for a job's summary or a comment (GitHub Flavored Markdown, github.github.com/gfm).

Text from a report is data: what Markdown would read as structure becomes a character reference or is escaped, so that
a tensor called `a|b`, `<img>` or `[x](y)` shows as just that. Where a name would mention people or issues (@, #) it
stands in <code>, where GitHub looks for neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from precdiff.report import findings, notable, rows
from precdiff.report.printable import printable
from precdiff.report.report import Report
from precdiff.report.table import Table

#: first line of every file, by which an older one is known
MARK = "<!-- precdiff -->"
#: rows of a table; a summary holds 1 MiB, and nobody reads more
_MOST = 100
_WIDE = 10_000

_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "|": "&#124;", "@": "&#64;", "#": "&#35;"}
_ESCAPED = re.compile(r"[\\`*_\[\]~$!]")
_LINK = re.compile(r"(?<=[a-zA-Z])://|(?<=www)\.", re.IGNORECASE)


def render(report: Report) -> str:
    """The report: verdict, facts, tensors, findings, worst elements, what to do next."""
    parts = [MARK, f"### {inline(rows.verdict_line(report))}", _facts(rows.summary(report))]
    parts += _tensors(report)
    parts += [_finding(number, report) for number in range(len(report.findings))]
    parts += _worst(report)
    if report.verdict == "fail":
        parts += [f"Next: {code(findings.next_command(report))}"]
    return "\n\n".join(parts) + "\n"


def render_error(actual: str, message: str) -> str:
    """What a comparison that could not be made says."""
    return f"{MARK}\n\n### {inline(f'ERROR: {actual}')}\n\n{inline(message)}\n"


def inline(text: str) -> str:
    r"""Text within a line.

    >>> inline("a|b <b> *c*")
    'a&#124;b &lt;b&gt; \\*c\\*'
    """
    return code(text) if "@" in text or "#" in text else _escaped(text)


def code(text: str) -> str:
    """Text in a fixed width."""
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    plain = _ESCAPED.sub(r"\\\g<0>", printable(text))
    referred = "".join(_REFERENCES.get(c, c) for c in plain)
    return _LINK.sub(lambda found: found[0].replace(":", "&#58;").replace(".", "&#46;"), referred)


def _facts(facts: rows.Facts) -> str:
    return "\n".join(f"- **{inline(label)}**: {inline(text)}" for label, text in facts)


def table(table: Table) -> str:
    """A table."""
    heads = [inline(column.title) for column in table.columns]
    rules = ["---:" if column.align == "right" else "---" for column in table.columns]
    return "\n".join(_row(cells) for cells in [heads, rules, *([inline(t) for t in row] for row in table.rows)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tensors(report: Report) -> Sequence[str]:
    if len(report.tensors) < 2:
        return []
    shown = [row for _, row in notable.notable(report)][:_MOST]
    hidden = len(report.tensors) - len(shown)
    made = [table(rows.tensor_table(shown).within(_WIDE))]
    return [*made, f"and {hidden} more"] if hidden else made


def _finding(number: int, report: Report) -> str:
    one = report.findings[number]
    facts = _facts(findings.finding_facts(one, evidence=False))
    return f"#### Finding {number + 1}: {inline(findings.headline(one))}\n\n{facts}"


def _worst(report: Report) -> Sequence[str]:
    tensor = notable.subject(report)
    if tensor is None or not tensor.worst:
        return []
    title = f"Worst elements of {inline(rows.name_of(tensor))}: {inline(rows.over_limit(tensor))}"
    return [title, table(rows.worst_table(tensor))]
