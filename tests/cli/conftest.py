"""Running commands: in this process, or as a process of their own."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from precdiff.cli.main import main

POW = ("--input", "x=uniform(0.1,10,shape=(256,))", "--input", "y=uniform(-4,4,shape=(256,))")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def precdiff():
    """precdiff(*words) -> the result, with exit_code, stdout and stderr."""
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def document(precdiff):
    """document(*words) -> the JSON document, stdout being nothing else; the exit code is its `code`."""

    def run(*words):
        result = precdiff(*words, "--json")
        assert result.stdout, result.stderr
        return {**json.loads(result.stdout), "code": result.exit_code}

    return run


@pytest.fixture
def process(folder):
    """process(*words, **environment) -> the finished process."""

    def run(*words, **more):
        command = [sys.executable, "-c", "from precdiff.cli.main import main; main()", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, **more)

    return run


@pytest.fixture
def dump(precdiff):
    """A dump of pow in fp16, whose output is beyond 4 ULP."""
    result = precdiff("run", "pow", *POW, "-o", "run.h5")
    assert result.exit_code == 0, result.stderr
    return "run.h5"
