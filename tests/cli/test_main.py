"""The frame of all commands: streams, exit codes, colour, and one message an error."""

import json
import signal
import subprocess
import sys
import threading
import time

import click
import pytest

from precdiff.cli import main as frame
from precdiff.cli.terminal import Terminal
from precdiff.errors import PrecDiffError

COMMANDS = "check compare demo doctor eval explain inspect list run serve verify".split()


def test_every_command_is_found_and_has_help(precdiff):
    overview = precdiff("--help")
    assert overview.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in overview.stdout
        one = precdiff(name, "--help")
        assert one.exit_code == 0 and f"Usage: precdiff {name} " in one.stdout and "--json" in one.stdout


def test_the_overview_states_codes_and_streams(precdiff):
    text = precdiff("--help").stdout
    assert "0 within the standard, 1 beyond it, 2 usage" in text and "stderr" in text


def test_an_unknown_command_names_the_nearest(precdiff):
    result = precdiff("comapre")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such command 'comapre'" in result.stderr and "Did you mean 'compare'" in result.stderr


def test_an_unknown_option_names_the_nearest(precdiff):
    result = precdiff("run", "softmax", "--fromat", "fp16")
    assert result.exit_code == 2 and "Did you mean '--format'" in result.stderr


@pytest.mark.parametrize("words", [("--json", "list", "formats"), ("list", "formats", "--json")])
def test_global_options_stand_before_or_after_the_command(precdiff, words):
    assert json.loads(precdiff(*words).stdout)["schema"] == "precdiff.list/1"


def test_text_goes_to_stderr_and_stdout_stays_empty(precdiff):
    result = precdiff("list", "formats")
    assert result.stdout == "" and "fp16" in result.stderr


@pytest.mark.parametrize("words", [("check", "gone.json", "--max-ulp", "1"), ("run", "softmx")])
def test_an_error_leaves_stdout_empty_even_with_json(precdiff, words):
    result = precdiff("--json", *words)
    assert (result.exit_code, result.stdout) == (2, "") and "Traceback" not in result.stderr


@pytest.fixture
def failing(monkeypatch):
    """precdiff fail: raises what it is given."""

    def install(error):
        @click.command()
        def fail():
            raise error

        monkeypatch.setattr(frame, "_files", lambda: ["fail"])
        monkeypatch.setattr(frame, "_command", lambda name: fail)

    return install


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (PrecDiffError("asked, found, allowed, do"), 2, "precdiff: asked, found, allowed, do\n"),
        (ValueError("odd"), 2, "a defect of PrecDiff: ValueError: odd. Please report it. --debug shows where."),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.FileError("x", "gone"), 2, "Could not open file"),
    ],
)  # fmt: skip
def test_errors_become_one_message_and_a_code(precdiff, failing, error, code, message):
    failing(error)
    result = precdiff("fail")
    assert result.exit_code == code and message in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("error", [PrecDiffError("known"), ValueError("unknown")])
def test_debug_shows_the_traceback(precdiff, failing, error):
    failing(error)
    result = precdiff("--debug", "fail")
    assert result.exit_code == 2 and "Traceback" in result.stderr and str(error) in result.stderr


@pytest.mark.parametrize(
    ("flag", "environment", "coloured"),
    [
        (None, {}, False),  # no terminal
        (None, {"FORCE_COLOR": "1"}, True),
        (None, {"FORCE_COLOR": "0"}, False),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (None, {"NO_COLOR": ""}, False),
        (True, {"NO_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_about_colour(monkeypatch, flag, environment, coloured):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Terminal(color=flag).colour is coloured


def test_colour_is_auto_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Terminal().colour
    monkeypatch.setenv("TERM", "dumb")
    assert not Terminal().colour


def test_colour_reaches_the_report(precdiff, dump):
    assert "\x1b[31mFAIL" in precdiff("compare", dump, "--color").stderr
    assert "\x1b[" not in precdiff("compare", dump, "--no-color").stderr


def test_progress_shows_after_a_second_on_a_terminal_only(capsys, monkeypatch):
    monkeypatch.setattr("precdiff.cli.terminal.PATIENCE", 0.01)
    before = threading.active_count()
    with Terminal().waiting("working"):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Terminal().waiting("working"):
        time.sleep(0.1)
    assert "\rworking: 0 s" in capsys.readouterr().err
    assert threading.active_count() == before


def test_a_process_prints_the_document_alone(process):
    done = process("list", "formats", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["kind"] == "formats"


def test_a_reader_that_leaves_early_is_no_error(folder):
    command = [sys.executable, "-c", "from precdiff.cli.main import main; main()", "list", "formats", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        writer.stdout.close()
        assert "Error" not in writer.stderr.read()
    assert writer.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupting_a_process_gives_130(folder):
    code = (
        "import sys, signal, threading, os, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from precdiff.cli import main as frame\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()\n"
        "frame._command = lambda name: frame.click.Command('fail', callback=lambda: time.sleep(30))\n"
        "frame._files = lambda: ['fail']\n"
        "sys.argv = ['precdiff', 'fail']\n"
        "frame.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGINT and "interrupted" in done.stderr


def test_help_is_quick(process):
    # budget of 150 ms (ux E7) on a host of its own; the bound here leaves room for a loaded one
    started = time.monotonic()
    assert process("--help").returncode == 0
    assert time.monotonic() - started < 2
