"""The order of the folders, read from the imports: each may import only those above it (docs/architecture.md).

The source is parsed, never imported, so an import inside a function or under TYPE_CHECKING counts like any other.
"""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import precdiff

ROOT = Path(__file__).parent.parent
ORDER = (
    "errors registry formats rounding ops device machine trace kernels npu dump capture reference comparison "
    "diagnose generate report api testing cli"
).split()
#: so that dumps from elsewhere need neither kernel nor machine; references and bounds reach it as data
COMPARISON = {"errors", "registry", "formats", "dump"}
#: folders whose array-level functions may choose a numba twin
CHOOSERS = {"formats", "rounding", "device", "machine", "comparison"}
#: the two commands that open the pages, inside their function
OPENS_WEB = {"precdiff.cli.serve", "precdiff.cli.report"}
NO_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "base", "misc"}
HEAVY = {"numpy", "numba", "flask", "h5py", "flint", "mpmath", "ml_dtypes", "click"}
MAX_FILE, MAX_FUNCTION = 300, 40


class Import(NamedTuple):
    """One imported name: who asks, the module that answers, where, and whether inside a function."""

    importer: str
    target: str
    line: int
    inner: bool = False

    def __str__(self):
        return f"{self.importer}:{self.line} imports {self.target}"


def module_paths():
    paths = {}
    for folder, prefix in ((ROOT / "precdiff", "precdiff"), (ROOT / "web", "precdiff.web")):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((prefix, *parts)).removesuffix(".__init__")
            paths[name] = path
    return paths


MODULES = module_paths()


def parse(name):
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def inner_nodes(tree):
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {id(node) for function in functions for node in ast.walk(function)}


def absolute(name, node):
    """The module a `from` import names; relative ones are counted from the importer's own package."""
    if not node.level:
        return node.module
    package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def answering_module(module, attribute):
    if module == "precdiff" and attribute in precdiff._HOME:
        return precdiff._HOME[attribute]
    return f"{module}.{attribute}" if f"{module}.{attribute}" in MODULES else module


def imports_of(name):
    tree = parse(name)
    inner = inner_nodes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(name, node)
            targets = [answering_module(module, alias.name) for alias in node.names if alias.name != "__version__"]
        else:
            continue
        yield from (Import(name, target, node.lineno, id(node) in inner) for target in targets)


IMPORTS = [row for name in MODULES for row in imports_of(name)]
OWN = [row for row in IMPORTS if row.target.split(".")[0] == "precdiff" and row.importer != "precdiff"]


def folder(module):
    return module.split(".")[1] if "." in module else ""


def allowed(row):
    """Whether the order of the folders permits this import."""
    here, there = folder(row.importer), folder(row.target)
    if here == there:
        return True
    if there == "web":
        return row.importer in OPENS_WEB and row.inner
    if there == "_accel":
        return here in CHOOSERS
    if here == "comparison":
        return there in COMPARISON
    if here == "web":
        return there in ORDER and there not in {"testing", "cli"}
    if (here, there) == ("cli", "testing"):
        return False
    return here in ORDER and there in ORDER and ORDER.index(there) < ORDER.index(here)


@pytest.mark.parametrize(
    ("importer", "target", "inner", "verdict"),
    [
        ("precdiff.rounding.array", "precdiff.formats", False, True),
        ("precdiff.formats.encoding", "precdiff.rounding", False, False),
        ("precdiff.formats.encoding", "precdiff.rounding", True, False),
        ("precdiff.comparison.pairing", "precdiff.dump", False, True),
        ("precdiff.comparison.pairing", "precdiff.trace", False, False),
        ("precdiff.rounding.array", "precdiff._accel.backend", False, True),
        ("precdiff.report.text", "precdiff._accel.backend", False, False),
        ("precdiff._accel.backend", "precdiff.errors", False, False),
        ("precdiff.cli.serve", "precdiff.web", True, True),
        ("precdiff.cli.serve", "precdiff.web", False, False),
        ("precdiff.cli.run", "precdiff.web", True, False),
        ("precdiff.cli.run", "precdiff.testing", False, False),
        ("precdiff.testing.plugin", "precdiff.api", True, True),
        ("precdiff.testing.plugin", "precdiff.cli.main", True, False),
        ("precdiff.web.pages", "precdiff.report", False, True),
        ("precdiff.web.pages", "precdiff.cli.main", False, False),
        ("precdiff.api", "precdiff", False, False),
    ],
)
def test_the_rule_itself(importer, target, inner, verdict):
    assert allowed(Import(importer, target, 1, inner)) is verdict


def test_relative_and_public_names_are_resolved():
    relative = ast.parse("from .encoding import to_bits").body[0]
    assert absolute("precdiff.formats.ulp", relative) == "precdiff.formats.encoding"
    assert absolute("precdiff.formats", relative) == "precdiff.formats.encoding"
    assert answering_module("precdiff", "kernel") == "precdiff.kernels.kernel"
    assert answering_module("precdiff", "registry") == "precdiff.registry"


def test_every_folder_is_in_the_order():
    known = {*ORDER, "_accel", "web", ""}
    assert {folder(name) for name in MODULES} <= known


def test_each_folder_imports_only_folders_above_it():
    assert [str(row) for row in OWN if not allowed(row)] == []


def test_no_module_imports_itself_in_a_circle():
    graph = {name: set() for name in MODULES}
    for row in OWN:
        if row.target in MODULES and row.target != "precdiff":
            graph[row.importer].add(row.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_web_modules_import_one_another_relatively():
    absolute_ones = [
        f"{name}:{node.lineno}"
        for name in MODULES
        if folder(name) == "web"
        for node in ast.walk(parse(name))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("precdiff.web")
    ]
    assert absolute_ones == []


def test_numba_is_named_only_in_accel():
    numba = [row for row in IMPORTS if row.target.split(".")[0] == "numba"]
    assert [str(row) for row in numba if folder(row.importer) != "_accel"] == []


def test_no_folder_hides_a_public_name():
    inside = {path.stem for path in (ROOT / "precdiff").iterdir()}
    assert inside & (set(precdiff.__all__) - {"ops"}) == set()


def test_public_names_are_written_alike_in_all_three_places():
    checked = {
        alias.name
        for node in ast.walk(parse("precdiff"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("precdiff")
        for alias in node.names
    }
    assert set(precdiff.__all__) == checked == {*precdiff._HOME, "ops"}


@pytest.mark.parametrize("name", precdiff.__all__)
def test_public_names_are_there(name):
    assert getattr(precdiff, name) is not None


def test_an_unknown_name_lists_the_public_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'exlpain'; public names: .*explain"):
        precdiff.exlpain  # noqa: B018 - the access is the test


def test_every_folder_is_a_package():
    assert [str(p.parent.relative_to(ROOT)) for p in MODULES.values() if not (p.parent / "__init__.py").exists()] == []


def test_names_say_what_is_inside():
    assert [name for name in MODULES if NO_NAMES & set(name.split("."))] == []


def test_files_are_short():
    texts = [*MODULES.values(), *(p for kind in ("html", "css", "js") for p in (ROOT / "web").rglob(f"*.{kind}"))]
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in texts if "vendor" not in p.parts}
    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > MAX_FILE} == {}


def code_lines(function, source):
    """Lines of the body without docstring, blanks and comments."""
    first = function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]
    lines = source[first.lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def test_functions_are_short():
    found = {}
    for name, path in MODULES.items():
        source = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(parse(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[f"{name}.{node.name}"] = code_lines(node, source)
    assert {name: n for name, n in found.items() if n > MAX_FUNCTION} == {}


def test_every_module_says_what_it_knows():
    assert [name for name in MODULES if not ast.get_docstring(parse(name))] == []


HELP = """import sys
from precdiff.cli.main import main
sys.argv = ["precdiff", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
"""


@pytest.mark.parametrize(
    ("code", "heavy"),
    [pytest.param("import precdiff", HEAVY, id="import"), pytest.param(HELP, HEAVY - {"click"}, id="help")],
)
def test_start_up_loads_nothing_heavy(code, heavy):
    code += f"\nimport sys\nprint('LOADED', *sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "LOADED"
