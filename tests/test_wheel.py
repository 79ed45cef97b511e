"""The built wheel, alone: in a new environment outside the source tree it runs the demo, serves pages, asserts.

`borrowed`: the dependencies are those of the running environment. `installed`: pip installs them, under make test-all.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: what a checkout holds that is no source
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "venv", "*.egg-info", "build", "__pycache__", ".*_cache", "tests")

SOFTMAX = ("run", "softmax", "--input", "x=normal(0,1,shape=(4,8))", "-o", "r.h5")


def run(*command, cwd, **options):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source, made = tmp_path_factory.mktemp("source") / "tree", tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", made, source, cwd=made)
    (found,) = made.glob("*.whl")
    return found


@pytest.fixture(scope="module", params=["borrowed", pytest.param("installed", marks=pytest.mark.slow)])
def python(request, wheel, tmp_path_factory):
    """The interpreter of a new environment with the wheel in it."""
    place = tmp_path_factory.mktemp(request.param) / "env"
    venv.create(place, with_pip=True)
    made = place / "bin" / "python"
    alone = ["--no-deps"] if request.param == "borrowed" else []
    run(made, "-m", "pip", "install", *alone, wheel, cwd=place)
    if alone:
        own = run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).stdout.strip()
        # behind the wheel's own packages, and without the editable install's hook
        Path(own, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return made


def test_it_holds_every_source_and_page(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(p.relative_to(ROOT)) for p in (ROOT / "precdiff").rglob("*.py")}
    pages = {
        f"precdiff/{p.relative_to(ROOT)}"
        for p in (ROOT / "web").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert sorted((sources | pages) - held) == []
    assert not any(name.startswith(("tests/", "dumps/", "benchmarks/")) for name in held)


def test_it_is_the_wheel_that_runs(python):
    where = run(python, "-c", "import precdiff, precdiff.web; print(precdiff.__file__)", cwd=python.parent).stdout
    assert str(python.parent.parent) in where


def test_the_demo(python, tmp_path):
    done = run(python.parent / "precdiff", "demo", cwd=tmp_path)
    assert "error_amplification" in done.stderr and "verified" in done.stderr


def test_it_runs_and_lists_everything(python, tmp_path):
    listed = run(python.parent / "precdiff", "list", "kernels", "--json", cwd=tmp_path).stdout
    names = {p.stem for p in (ROOT / "precdiff" / "kernels").glob("*.py")}
    assert len(json.loads(listed)["entries"]) >= 20 and {"softmax", "pow"} <= names
    run(
        python.parent / "precdiff", "run", "softmax", "--input", "x=normal(0,1,shape=(4,8))", "-o", "r.h5", cwd=tmp_path
    )
    assert (tmp_path / "r.h5").stat().st_size > 0


def test_the_pages(python, tmp_path):
    run(
        python.parent / "precdiff", "run", "softmax", "--input", "x=normal(0,1,shape=(4,8))", "-o", "r.h5", cwd=tmp_path
    )
    command = [str(python.parent / "precdiff"), "serve", ".", "--port", "0"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        url = re.search(r"http://\S+", process.stderr.readline())[0]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = opener.open(url, timeout=30).read().decode()
    finally:
        process.terminate()
        process.communicate()
    assert "r.h5" in page


def test_assertions(python, tmp_path):
    program = "import numpy as np; from precdiff.testing import assert_ulp_close as a; a(*[np.ones(3)] * 2, max_ulp=0)"
    run(python, "-c", program, cwd=tmp_path)


def test_a_project_of_kernels(python, tmp_path):
    """tests/kernel_project as a stranger uses it: baselines wait, are accepted and hold; what is worse is explained."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "tests" / "kernel_project", project)
    shutil.rmtree(project / "tests" / "precdiff_baselines")
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")}

    def tests(*words):
        command = [python, "-m", "pytest", "-p", "no:hypothesispytest", *words]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=clean)
        return done.returncode, done.stdout

    code, said = tests()
    assert code == 1 and "baselines pending: 2 missing" in said and "2 failed, 6 passed" in said
    run(python.parent / "precdiff", "accept", "--all", cwd=project)
    assert tests()[0] == 0

    kernel = project / "my_kernels" / "rmsnorm.py"
    kernel.write_text(kernel.read_text().replace("ACCUMULATE = np.float32", "ACCUMULATE = np.float16"))
    code, said = tests("--precdiff-explain=full")
    assert code == 1 and "1 failed, 7 passed" in said
    assert re.search(r"E +likely cause +(stagnation|intermediate_too_narrow) \(candidate\) at sum", said)
    (command,) = re.findall(r"E +next +precdiff (explain .*)", said)
    done = subprocess.run([python.parent / "precdiff", *command.split(), "--max-ulp", "4"], cwd=project,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1 and " at sum" in done.stderr
    assert (project / ".precdiff" / "results.html").exists()
