"""Command lines drawn at random, valid and absurd: no traceback, no hang, a code of the contract, a reason with 2.

Every command and option is found by asking click, so a new one is drawn too. A word is what its option takes, what
another takes, or noise. 2,000 lines under `make test-all`; a slice drawn by the same generator in `make test`.
What escapes a command becomes "a defect of PrecDiff" with exit code 2 (cli/main.py): that text is what must not appear.
"""

import contextlib
import os
import signal
import socket

import click
import h5py
import numpy as np
import pytest

from precdiff.cli.main import main
from precdiff.kernels import KERNELS

LINES = 2000 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 200
CHUNK = 40
#: seconds after which a command is taken to hang; the largest shape drawn takes one
LIMIT = 60

NUMBERS = "0 1 -1 4 0.5 1e-3 1e400 -0.0 nan inf -inf 0x1p-3 1_000 ٣ 99999999999999999999 1e-400 NaN 3/4 '' true".split()
SPECS = [
    "uniform(0.1,10,shape=(32,))", "normal(0,1,shape=(4,8))", "linspace(-1,1,shape=(16,))", "special()",
    "uniform(-4,4,shape=(32,),as=fp16)", "constant(0,shape=(3,))", "uniform(1,0,shape=(3,))", "normal(shape=())",
    "normal(0,1,shape=(0,))", "uniform(0,1,shape=(99999999999999,))", "uniform(0,1,shape=(-3,))", "normal(0,1",
    "uniform(0,1,shape=(4,),as=fp12)", "gauss(0,1)", "uniform(nan,inf,shape=(4,))", "__import__('os')",
]  # fmt: skip
FILES = [
    "run.h5", "half.h5", "r.json", "k.py", "k.py:loud", "k.py:quits", "k.py:broken", "k.py:nothing", "k.py:none",
    "empty", "folder", "text.txt", "text.txt:fp16:2", "x.npy", "object.npy", "complex.npy", "nan.npy", "zero.npy",
    "other.h5", "missing.h5", "raw.bin:fp16:4,8", "raw.bin:fp16:9", "raw.bin:bf17:2", "raw.bin", "/dev/null", "~",
    "naïve/日本.h5", "a\tb", "-", "--", ".", "..", "/", "x" * 300, "\U0001f600", "http://example.invalid/a",
    "deep.json", "deep.toml", "deep.fpcore", "list.json", "raw2.bin", "f.fpcore", "f.fpcore:two", "huge.fpcore",
    "rows.jsonl", "table.csv", "bytes\udcff.h5", "text.py:k", "run.h5/inside", "k.py:deep", "link.h5", "gone.h5",
]  # fmt: skip
NAMES = [
    *list(KERNELS)[:12], "pov", "softmax_naive", "fp16", "bf16", "fp32", "fp64", "e4m3fn", "tf32", "i8", "bool", "fp12",
    "ieee", "ascend-910b", "ascend-910B", "auto", "ulp", "allclose", "bitwise", "mpmath", "kernels", "causes", "*", "",
    "torch", "cann-dual-l0", "cann-mixed", "opencl-full", "msprobe-api", "exp", "standards",
]  # fmt: skip
PAIRS = [
    "x=1", "x=", "=1", "x", "x=x.npy", "y=0x1.8p3", "variant=v1", "variant=v9", "acc=fp16", "inner=fp32", "axis=7",
    "direction=up", "direction=sideways", "overflow=saturate", "sum_order=pairwise", "no_such=1", "x=1=2", "q=nan.npy",
    *(f"{name}={spec}" for name in ("x", "y", "a", "b", "q", "gamma") for spec in SPECS[:4]),
]  # fmt: skip
EXPRESSIONS = [
    "x+1", "(x+1)-x", "exp(x)*y", "x**2", "1/0", "x/(x-x)", "__import__('os')", "x.real", "9**9**9**9", "x if y else 1",
    "(" * 300 + "x" + ")" * 300, "lambda: 1", "exp(", "\u0435\u0445\u0440(x)", "x @ y", "sqrt(x, y)", "x;y", "",
]  # fmt: skip
PROGRAM = """
def loud(x):
    print("noise")
    return x + x
def quits(x):
    raise SystemExit(3)
def broken(x):
    return x @ nothing
def nothing():
    return None
def none(x):
    return None
def deep(x):
    return deep(x)
"""
#: files of text, by name
TEXTS = {
    "k.py": PROGRAM, "text.txt": "no dump", "text.py": "def k(x:\n", "empty": "", "deep.json": "[" * 100_000,
    "deep.toml": "a=" + "[" * 100_000, "deep.fpcore": f"(FPCore (x) {'(- ' * 9000}x{')' * 9001}", "list.json": "[1]",
    "raw2.bin": "ab", "raw2.bin.json": "[" * 100_000, "huge.fpcore": "(FPCore (x) (+ x 1e9999))",
    "f.fpcore": "(FPCore one (x) (+ x 1)) (FPCore two (x y) (if (< x y) (sqrt x) (/ x 0)))", "table.csv": "a,b\n1,2\n",
    "rows.jsonl": '{"fpcore": "(+ x 1)", "vars": ["x"], "fmt": "fp16", "point": {"x": "0x1p+3"}}\n7\n{}\n'
    + "[" * 100_000,
}  # fmt: skip


#: lines that work; one or two of their words are changed
WORKING = [
    f"run pow --input x={SPECS[0]} --input y={SPECS[4]} --set variant=v1 --format fp16 -o out.h5",
    "run k.py:loud --input x=x.npy --profile ascend-910b --profile-set direction=up -o out.h5 --seed 3",
    f"run softmax --input x={SPECS[1]} --format bf16 --json",
    "eval (x+1)-x x=4096 --format fp16 --max-ulp 4", "eval exp(y*log(x)) x=3 y=2.5 --format bf16 --json",
    "compare run.h5 -o new.json", "compare run.h5 --max-ulp 1000 --layer pow", "compare run.h5 x.npy --standard ulp",
    "compare x.npy x.npy --standard allclose --rtol 1e-3 --atol 0", "compare raw.bin:fp16:4,8 raw.bin:fp16:4,8 --json",
    f"compare raw.bin:fp16:32 --kernel pow --input x={SPECS[0]} --input y={SPECS[4]} --max-ulp 4",
    "explain run.h5 --budget 1 -v", "explain run.h5 --standard auto --max-ulp 1 --json", "check r.json --max-ulp 16",
    "inspect run.h5 steps", "inspect run.h5 --json", "verify run.h5 --salvage -o saved.h5", "verify half.h5",
    "list kernels", "list fields --json", "doctor", "eval --batch rows.jsonl --fault-bits fp16=4",
    "eval f.fpcore:two x=2 y=3 --profile ascend-910b", f"tune pow --input x={SPECS[0]} --input y={SPECS[4]} --budget 1",
    "sweep reduce_sum --input x=normal(0,1,shape=(4,K)) --set K=4,8 --format fp16,bf16 --csv new.csv",
    "serve folder --port 0 --host localhost", "check r.json --max-ulp 4 --json",
    "compare x.npy x.npy --standard cann-dual-l1 --peer x.npy --runs", "compare run.h5 --standard opencl-full --op exp",
    "compare raw.bin:fp16:32 raw.bin:fp16:32 --standard msprobe-ulp --peer raw.bin:fp16:32", "list standards --json",
    "verify-result raw.bin raw.bin --format fp16 --rtol 1e-3 --error-tol 0.1 --golden-format fp16 --explain",
    f"verify-result raw.bin raw.bin --format fp16 --kernel pow --input x={SPECS[0]} --input y={SPECS[4]} --json",
]  # fmt: skip

CONTEXT = click.Context(main)
COMMANDS = {name: main.get_command(CONTEXT, name) for name in main.list_commands(CONTEXT)}


class Hang(BaseException):
    """The limit of time; no command catches it, as it would an Exception."""


def listen(address, **_):
    """A port on 127.0.0.1 for the names of this host, none for others: nothing here asks the network."""
    host = address[0].encode("idna").decode()
    if host not in ("127.0.0.1", "localhost"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    return made


@pytest.fixture(autouse=True)
def files(precdiff, tmp_path, monkeypatch):
    monkeypatch.setattr("waitress.serve", lambda *args, **options: None)
    monkeypatch.setattr("socket.create_server", listen)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.h5").symlink_to("link.h5")
    (tmp_path / "gone.h5").symlink_to("nowhere.h5")
    (tmp_path / "raw.bin").write_bytes(bytes(range(64)))
    arrays = {
        "x": np.float16([[1, 2], [3, 4]]), "object": np.array([{}], object), "complex": np.ones(2, complex),
        "nan": np.full(3, np.nan, np.float32), "zero": np.zeros((0, 2), np.float16),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["a"] = np.arange(4)
    assert precdiff("run", "pow", "--input", f"x={SPECS[0]}", "--input", f"y={SPECS[4]}", "-o", "run.h5").exit_code == 0
    assert precdiff("compare", "run.h5", "-o", "r.json").exit_code in (0, 1)
    (tmp_path / "half.h5").write_bytes((tmp_path / "run.h5").read_bytes()[:5000])


def word(rng, kind):
    """A word of that kind, now and then of another."""
    pools = {"number": NUMBERS, "spec": SPECS, "file": FILES, "name": NAMES, "pair": PAIRS, "expression": EXPRESSIONS}
    kind = kind if rng.random() < 0.8 else str(rng.choice(list(pools)))
    return str(rng.choice(np.array(pools[kind], object)))


def kind_of(parameter):
    """What the parameter takes, by its name and type."""
    if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
        return "number"
    kinds = {
        "kernel": "name", "values": "pair", "expression": "expression", "input": "pair", "set": "pair",
        "options": "pair", "profile_set": "pair", "profile_fields": "pair", "format": "name", "profile": "name",
        "standard": "name", "backend": "name", "kind": "name", "layer": "name", "host": "name",
    }  # fmt: skip
    return kinds.get(str(parameter.name), "file")


def changed(rng):
    """A line that works, with a word or two replaced, repeated or left out."""
    words = str(rng.choice(WORKING)).split(" ")
    for _ in range(rng.integers(0, 3) if len(words) > 1 else 0):
        place = int(rng.integers(1, len(words)))
        kind = str(rng.choice(["number", "spec", "file", "name", "pair", "expression"]))
        words[place : place + 1] = [[word(rng, kind)], [], [words[place]] * 2][rng.choice(3, p=[0.7, 0.2, 0.1])]
        if len(words) == 1:
            break
    return words


def line(rng):
    """One command line: half of them grown from a working one."""
    return changed(rng) if rng.random() < 0.5 else made_up(rng)


def made_up(rng):
    name = str(rng.choice([n for n in COMMANDS if n != "demo" or rng.random() < 0.1]))
    parameters = COMMANDS[name].params
    words = [name]
    for parameter in parameters:
        if isinstance(parameter, click.Argument):
            words += [word(rng, kind_of(parameter)) for _ in range(rng.integers(0 if rng.random() < 0.2 else 1, 3))]
        elif parameter.name not in ("debug", "help") and rng.random() < 0.25:
            words.append(str(rng.choice(parameter.opts)))
            if not parameter.is_flag:
                words.append(word(rng, kind_of(parameter)))
    if rng.random() < 0.1:
        words.insert(
            int(rng.integers(0, len(words) + 1)), str(rng.choice(["--nonsense", "-z", "--json", "--help", "--"]))
        )
    return words


@contextlib.contextmanager
def time_limit(seconds):
    def ring(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problem(result):
    """What a command did that none may do; empty where nothing."""
    said = result.stdout + result.stderr
    if not isinstance(result.exception, SystemExit | None) or "Traceback" in said or "defect of PrecDiff" in said:
        return f"traceback: {result.exception!r} {said[-500:]}"
    if result.exit_code not in (0, 1, 2):
        return f"exit code {result.exit_code}"
    return "exit code 2 without a reason" if result.exit_code == 2 and not result.stderr.strip() else ""


@pytest.mark.parametrize("chunk", range(LINES // CHUNK))
def test_no_traceback_no_hang(precdiff, chunk):
    rng, codes, problems = np.random.default_rng([2026, chunk]), dict.fromkeys((0, 1, 2), 0), []
    for _ in range(CHUNK):
        words = line(rng)
        try:
            with time_limit(LIMIT):
                result = precdiff(*words)
        except Hang:
            problems.append((words, f"no end after {LIMIT} s"))
            continue
        problems += [(words, found)] if (found := problem(result)) else []
        codes[result.exit_code] = codes.get(result.exit_code, 0) + 1
    print(f"{CHUNK} lines, exit codes {codes}, {len(problems)} tracebacks, hangs and silences")
    assert problems == []


def test_a_traceback_and_a_hang_would_be_seen(precdiff, monkeypatch):
    """What this file asserts can fail: a command that raises, one that never ends, one that says nothing."""
    for body, found in ((lambda: int("odd"), "traceback"), (lambda: 2, "without a reason"), (lambda: 7, "exit code 7")):
        monkeypatch.setattr(COMMANDS["doctor"], "callback", lambda body=body: body())
        assert found in problem(precdiff("doctor"))
    monkeypatch.setattr(COMMANDS["doctor"], "callback", signal.pause)
    with pytest.raises(Hang), time_limit(1):
        precdiff("doctor")
