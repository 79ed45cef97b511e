"""Every example of README.md and docs/ runs. How to write one:

    ```python     with `>>>`: a doctest (`...` stands for any text); without: executed. Blocks of a page share names.
    ```console    each line `$ precdiff ...` runs as a command; other `$` lines are for the reader. Lines below a
                  command are its output, stdout and stderr together, compared as a doctest's; none: not compared.
                  A line ending in a backslash goes on in the next. No pipes: there is no shell.

On the line before a block:

    <!-- exit: 0 1 -->           exit codes of the block's precdiff commands, in order; those not stated are 0
    <!-- not run: reason -->     the block is for the reader only

A page runs from top to bottom in an empty folder that holds a copy of dumps/. docs/decisions/ is not run.
"""

import contextlib
import doctest
import io
import linecache
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in p.parts)]
FENCE = re.compile(r"(?:^<!-- (?P<note>.*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SHELL = {"|", ">", ">>", "<", "&&", "||", ";", "&"}


class Block(NamedTuple):
    """A fenced block: its language, text, the note before it, and the line its text starts at."""

    language: str
    text: str
    note: str
    line: int


class Command(NamedTuple):
    """One `$` line of a console block: its words, the output shown (None: not shown) and where it stands."""

    words: list
    output: str | None
    line: int


def blocks(text):
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(match["language"], match["text"], match["note"] or "", line)


def split_words(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>;&")
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    assert not SHELL & set(words), f"no shell runs this: {line}"
    return words


def commands(block):
    """The `$ precdiff` lines of a console block with the output shown below each."""
    text, line = block.text.replace("\\\n", " \f"), block.line
    for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        first, _, output = part.partition("\n")
        if first.startswith("$ precdiff "):
            words = split_words(first[2:].replace("\f", ""))
            yield Command(words, output if output.strip() else None, line)
        line += part.count("\n") + part.count("\f")


def exit_codes(block, count):
    codes = [int(code) for code in block.note.removeprefix("exit:").split()] if block.note.startswith("exit:") else []
    assert len(codes) <= count, f"line {block.line}: more exit codes than precdiff commands"
    return codes + [0] * (count - len(codes))


def call(words):
    """Run the console script's own function; give back its exit code and all it printed."""
    from precdiff.cli.main import main

    printed, code = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                code = main()
            except SystemExit as end:
                code = end.code
    return code or 0, printed.buffer.getvalue().decode()


def run_console(block, page):
    found = list(commands(block))
    for command, expected in zip(found, exit_codes(block, len(found)), strict=True):
        code, printed = call(command.words)
        where = f"{page}:{command.line}: {shlex.join(command.words)}"
        assert code == expected, f"{where}\nexit {code}, stated {expected}\n{printed}"
        if command.output is not None and not doctest.OutputChecker().check_output(command.output, printed, FLAGS):
            pytest.fail(f"{where}\nshown:\n{command.output}\nprinted:\n{printed}", pytrace=False)


def run_doctest(block, page, names):
    test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line - 1)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    if runner.failures:
        pytest.fail(report.getvalue(), pytrace=False)


def run_source(block, page, names):
    """Execute the text as if the page were its file, so that steps name the page and its line as their source."""
    source = "\n" * (block.line - 1) + block.text
    file = f"<{page}:{block.line}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), names)


def run_block(block, page, names):
    if block.note.startswith("not run:"):
        return
    if block.language == "console":
        run_console(block, page)
    elif block.language == "python" and ">>>" in block.text:
        run_doctest(block, page, names)
    elif block.language == "python":
        run_source(block, page, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page, tmp_path, monkeypatch):
    if (ROOT / "dumps").exists():
        shutil.copytree(ROOT / "dumps", tmp_path / "dumps")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        run_block(block, str(page.relative_to(ROOT)), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_example_escapes(page):
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language, f"{page.name}:{block.line}: a block without a language"
        assert block.language == "console" or "$ precdiff" not in block.text, f"{page.name}:{block.line}: say console"


EXAMPLE = """
<!-- exit: 1 -->
```console
$ make demo
$ precdiff compare a.npy \\
    b.npy
fail ... ulp
$ precdiff list 'a > b'
```

```python
>>> 1 + 1
2
```
"""


def test_blocks_and_commands_are_read():
    console, python = blocks(EXAMPLE)
    assert (console.language, console.note, console.line) == ("console", "exit: 1", 4)
    assert (python.language, python.text, python.line) == ("python", ">>> 1 + 1\n2\n", 12)
    assert list(commands(console)) == [
        Command(["precdiff", "compare", "a.npy", "b.npy"], "fail ... ulp\n", 5),
        Command(["precdiff", "list", "a > b"], None, 8),
    ]
    assert exit_codes(console, 2) == [1, 0]


def test_a_pipe_is_refused():
    with pytest.raises(AssertionError, match="no shell"):
        split_words("precdiff list kernels | head")


def test_a_wrong_doctest_fails():
    with pytest.raises(pytest.fail.Exception, match=r"Expected:\s+3"):
        run_doctest(Block("python", ">>> 1 + 1\n3\n", "", 1), "page.md", {})


def test_the_blocks_of_a_page_share_names():
    names = {}
    run_source(Block("python", "def two():\n    return 2\n", "", 5), "page.md", names)
    run_doctest(Block("python", ">>> two()\n2\n>>> three = 3\n", "", 9), "page.md", names)
    assert names["three"] == 3
    assert names["two"].__code__.co_firstlineno == 5


def says_fail():
    print("actual  3 ulp")
    print("beyond the limit", file=sys.stderr)
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("note", "output", "complaint"),
    [
        ("exit: 1", "actual ... ulp\nbeyond the limit\n", None),
        ("exit: 1", "", None),
        ("exit: 1", "actual 4 ulp\nbeyond the limit\n", "printed:"),
        ("", "", "exit 1, stated 0"),
        ("exit: 1 0", "", "more exit codes"),
    ],
)
def test_a_console_block_is_held_to_its_code_and_output(note, output, complaint, monkeypatch):
    monkeypatch.setitem(sys.modules, "precdiff.cli", ModuleType("precdiff.cli"))
    monkeypatch.setitem(sys.modules, "precdiff.cli.main", SimpleNamespace(main=says_fail))
    block = Block("console", "$ precdiff compare a b\n" + output, note, 1)
    if complaint is None:
        run_console(block, "page.md")
    else:
        with pytest.raises((AssertionError, pytest.fail.Exception), match=complaint):
            run_console(block, "page.md")
