"""Markdown, read by a parser of it (markdown-it-py): names are text, tables keep their columns."""

from dataclasses import replace

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from precdiff.report.exports import markdown
from precdiff.report.printable import printable
from tests.report.example import report as example
from tests.report.exports.hostile import NAMES, names, report_on

GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])
#: what a report is made of; no link, image, emphasis of ours but strong, no raw HTML but <code> and the mark
BLOCKS = {"heading", "bullet_list", "list_item", "paragraph", "table", "thead", "tbody", "tr", "th", "td", "inline"}
INLINES = {"text", "text_special", "strong_open", "strong_close", "html_inline"}


def parse(text):
    """The tokens, where there is no structure that we did not write."""
    tokens = GFM.parse(text)
    first, *rest = tokens
    assert (first.type, first.content.strip()) == ("html_block", markdown.MARK)
    for token in rest:
        assert token.type.removesuffix("_open").removesuffix("_close") in BLOCKS, token
        for child in token.children or ():
            assert child.type in INLINES, child
            assert child.type != "html_inline" or child.content in ("<code>", "</code>"), child
    return rest


def texts(tokens):
    """What a reader sees of each line of text."""
    shown = [t.children for t in tokens if t.type == "inline"]
    return ["".join(c.content for c in children if c.type in ("text", "text_special")) for children in shown]


def test_the_report_in_markdown():
    text = markdown.render(example())
    assert text.startswith("<!-- precdiff -->\n\n### FAIL: 1 of 4 tensors; out (fp16 8x64): worst ")
    lines = texts(parse(text))
    assert (
        "first divergence: log (kernels/pow.py:12), layer pow: no step breaks its bound; "
        "most of the output's error is born here"
    ) in lines
    assert "Finding 1: error_amplification (verified) at exp (kernels/pow.py:13)" in lines
    assert "remedy: keep log(x) and y * log(x) in fp32" in lines
    assert "Next: precdiff serve" in lines


def test_a_pass_has_nothing_to_do_next():
    made = example()
    passing = replace(made, tensors=made.tensors[:1], verdict="pass", findings=())
    assert "Next" not in markdown.render(passing) and "| verdict |" not in markdown.render(passing)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_text(name):
    tokens = parse(markdown.render(report_on(name)))
    assert texts(tokens).count(printable(name).strip()) >= 4
    columns = sum(token.type == "th_open" for token in tokens)
    assert {len(row) for row in table_rows(tokens)} <= {columns - 5, 5}


def table_rows(tokens):
    rows = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(token)
    return rows


@given(names)
def test_any_text_shows_as_it_is(name):
    text = f"{markdown.MARK}\n\n- **a**: {markdown.inline(name)}\n- **b**: {markdown.code(name)}\n"
    text.encode("utf-8")
    seen = texts(parse(text))
    assert [line.split(": ", 1)[1].strip() for line in seen] == [printable(name).strip()] * 2


@given(names)
def test_any_text_keeps_the_structure(name):
    parse(markdown.render(report_on(name)))


@pytest.mark.parametrize("name", ["@octocat", "owner/repo#1", "team @a/b"])
def test_nobody_is_mentioned(name):
    """GitHub looks for mentions and issues everywhere but in code."""
    assert markdown.inline(name).startswith("<code>")


def test_a_long_table_is_cut_and_says_so():
    made = example()
    many = tuple(replace(made.tensors[-1], name=f"t{n}", id=f"t{n}") for n in range(250))
    text = markdown.render(replace(made, tensors=many))
    assert "and 150 more" in text and len(text) < 2**16


def test_a_comparison_that_could_not_be_made():
    assert texts(parse(markdown.render_error("a|b", "no <such> file"))) == ["ERROR: a|b", "no <such> file"]
