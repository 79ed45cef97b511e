"""Names as strangers might give them to tensors, and a report about tensors of given names."""

from dataclasses import replace

from hypothesis import strategies as st

from tests.report.example import report as example

NAMES = {
    "bar": "a|b", "line": "a\nb", "return": "a\r\nb", "formula": "=cmd|'/c calc'!A1", "plus": "+1+1", "minus": "-2+3",
    "at": "@SUM(A1)", "wide formula": "\uff1dcmd", "tab": "\t=1", "space": " =1", "quote": 'a"b,c',
    "html": "<img src=x onerror=alert(1)>",
    "comment": "--><script>", "link": "[x](javascript:alert(1))", "image": "![x](http://a.b/c.png)", "code": "`rm -rf`",
    "star": "**a** _b_ ~~c~~", "mention": "@octocat", "issue": "owner/repo#1", "url": "https://a.b www.a.b",
    "entity": "&lt;b&gt;", "backslash": "a\\|b\\", "cdata": "]]>", "xml": "</testcase><x a='1'>", "nul": "a\0b",
    "escape": "\x1b[31mred", "bidi": "a\u202eb", "surrogate": "a\ud800b", "noncharacter": "a\ufffeb",
    "command": "::error::x", "resume": "::stop-commands::x", "legacy": "##[error]x", "percent": "100%0A::error::x",
    "comma": "a,line=1:b::c", "emoji": "größe-层-🙂", "rule": "---", "heading": "# a", "list": "1. a", "math": "$x$",
    "next line": "a\u2028b\x85c",
}  # fmt: skip

names = st.one_of(st.sampled_from(sorted(NAMES.values())), st.text(min_size=1, max_size=20))


def report_on(name, **fields):
    """The example, with `name` in every place a stranger fills, and more fields of the report."""
    made = example()
    rows = [
        replace(row, name=name, id=name, layer=name, op=name, source=f"{name}:3", rule=f"error <= {name}")
        for row in made.tensors
    ]
    found = [replace(finding, step=name, born_at=(name,), remedy=name) for finding in made.findings]
    return replace(made, tensors=tuple(rows), findings=tuple(found), actual=name, **fields)
