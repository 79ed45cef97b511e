"""A user's kernels: functions, files, options, inputs, outputs, and what is said when something is wrong with them."""

import doctest
import io
import sys
import types

import ml_dtypes
import numpy as np
import pytest

import precdiff.kernels
from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import FileError, KernelError, PrecDiffError, UnknownNameError
from precdiff.kernels import KERNELS, Limit, backward, get_kernel, kernel, run_kernel, ulp
from precdiff.registry import Registry

X = np.float16([1.0, 2.0, 3.0])

SOURCE = '''
from precdiff import kernel, ops
from precdiff.kernels import ulp

SHIFT = 0.5

def helper(x):
    return x * 2.0

def plain(x):
    doubled = helper(x)
    return doubled + SHIFT

@kernel(limit=ulp(2), examples={"x": "normal(0,1,shape=(8,))"})
def decorated(x, y=None, *, power: float = 2.0, up: bool = False, name: str = "a"):
    """A kernel."""
    z = x ** power
    return z if y is None else z + y

def failing(x):
    y = ops.exp(x)
    return 1 / 0

def shapes(x):
    return x + x.reshape(2, 2)

def nothing(x):
    return None
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return str(path)


class TestFiles:
    def test_a_function_in_a_file(self, file):
        found = run_kernel(f"{file}:plain", {"x": X})
        assert found.outputs["out"].tolist() == [2.5, 4.5, 6.5]
        assert found.trace.kernel == f"{file}:plain"

    def test_steps_know_line_and_name(self, file):
        steps = run_kernel(f"{file}:plain", {"x": X}).trace.steps
        lines = SOURCE.splitlines()
        product, total = (s for s in steps if s.op != "constant")
        assert product.source.file == total.source.file == file
        assert lines[product.source.line - 1].strip() == "return x * 2.0"
        assert lines[total.source.line - 1].strip() == "return doubled + SHIFT"

    def test_a_decorated_kernel_keeps_its_row(self, file):
        found = get_kernel(f"{file}:decorated")
        assert (found.limit, dict(found.examples)) == (ulp(2), {"x": "normal(0,1,shape=(8,))"})
        assert found.inputs == {"x": True, "y": False}
        assert found.options == {"power": 2.0, "up": False, "name": "a"}
        assert "decorated" not in KERNELS

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FileError, match=r"there is no file '.*gone.py' \(working folder /"):
            get_kernel(f"{tmp_path / 'gone.py'}:f")

    def test_a_function_that_is_not_there(self, file):
        with pytest.raises(UnknownNameError, match=r"unknown kernel in .*mine.py: 'plian'. Did you mean 'plain'\?"):
            get_kernel(f"{file}:plian")

    @pytest.mark.parametrize(
        ("text", "message"),
        [("x = (", r"SyntaxError: .*line 1"), ("x = 1\nraise ValueError('no')", "ValueError: no \\(line 2\\)")],
    )
    def test_a_file_that_does_not_load(self, tmp_path, text, message):
        path = tmp_path / "bad.py"
        path.write_text(text)
        with pytest.raises(KernelError, match=f"bad.py: could not be loaded: {message}"):
            get_kernel(f"{path}:f")

    def test_a_kernel_that_raises_says_its_own_line(self, file):
        line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "1 / 0" in text)
        with pytest.raises(
            KernelError, match=rf"raised ZeroDivisionError: division by zero \(at {file}:{line}: return 1 / 0\)"
        ):
            run_kernel(f"{file}:failing", {"x": X})

    def test_an_op_that_refuses_says_the_kernels_line(self, file):
        line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "x.reshape(2, 2)" in text)
        with pytest.raises(KernelError, match=rf"reshape: .*at {file}:{line}:"):
            run_kernel(f"{file}:shapes", {"x": X})

    def test_no_output(self, file):
        with pytest.raises(KernelError, match="returned nothing; a kernel returns its output tensors"):
            run_kernel(f"{file}:nothing", {"x": X})


class TestInputs:
    def test_missing(self):
        with pytest.raises(
            KernelError,
            match=r"kernel pow: input 'y' was not given. It takes x, y; found x. For example: --input 'y=uniform",
        ):
            run_kernel("pow", {"x": X})

    def test_unknown(self):
        with pytest.raises(KernelError, match=r"kernel pow: 'z' is not an input. It takes x, y; found x, y, z"):
            run_kernel("pow", {"x": X, "y": X, "z": X})

    def test_none_at_all(self):
        with pytest.raises(KernelError, match=r"input 'x' was not given. It takes x; found none"):
            run_kernel("softmax", {})

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.array(["a"]), "input x: "),
            (np.array([1j]), "input x: .*real and imaginary"),
            (np.array([object()]), "input x: "),
        ],
        ids=["text", "complex", "objects"],
    )
    def test_values_that_are_no_tensors(self, value, message):
        with pytest.raises(KernelError, match=f"kernel softmax, {message}"):
            run_kernel("softmax", {"x": value})

    def test_each_input_keeps_its_format(self):
        trace = run_kernel(kernel(lambda x, y: ops.cast(x, "fp32") + y), {"x": X, "y": np.float32([0.1])}).trace
        assert (trace.formats["x"], trace.formats["y"]) == ("fp16", "fp32")

    def test_format_rounds_inputs_once(self):
        x = np.array([0.1, 1 + 2.0**-8 + 2.0**-30])
        trace = run_kernel(kernel(lambda x: x + x), {"x": x}, format="bf16").trace
        assert trace.values["x"].tolist() == [float(ml_dtypes.bfloat16(0.1)), 1 + 2.0**-7]

    def test_numbers_and_lists(self):
        assert run_kernel(kernel(lambda x: x + 1.0), {"x": 2.0}, format="fp16").outputs["out"].tolist() == 3.0
        assert run_kernel(kernel(lambda x: x + 1.0), {"x": [1.0, 2.0]}, format="fp16").outputs["out"].tolist() == [
            2.0,
            3.0,
        ]

    def test_an_optional_tensor(self):
        a, b = np.float16([[1.0]]), np.float16([[2.0]])
        assert run_kernel("matmul", {"a": a, "b": b}).outputs["out"].tolist() == [[2.0]]
        assert run_kernel("matmul", {"a": a, "b": b, "c": np.float16([[3.0]])}).outputs["out"].tolist() == [[5.0]]

    def test_c_is_in_the_accumulators_format_whatever_the_format(self):
        one = np.ones((1, 1))
        c = np.array([[1 + 2.0**-20]])
        trace = run_kernel("matmul", {"a": one, "b": one, "c": c}, format="fp16", profile="ascend-910b").trace
        assert trace.formats["c"] == "fp32"
        assert trace.values["c"].tolist() == c.tolist()


class TestOptions:
    def test_by_name(self):
        assert run_kernel("reduce_sum", {"x": np.ones((2, 3), np.float16)}, options={"axis": 0}).outputs[
            "out"
        ].shape == (3,)

    def test_unknown(self):
        with pytest.raises(UnknownNameError, match=r"unknown option of kernel pow 'varient'. Did you mean 'variant'\?"):
            run_kernel("pow", {"x": X, "y": X}, options={"varient": "v1"})

    @pytest.mark.parametrize(
        ("text", "value"), [("power=3.5", 3.5), ("up=true", True), ("up=False", False), ("name=b", "b")]
    )
    def test_from_text(self, file, text, value):
        name, _, given = text.partition("=")
        assert get_kernel(f"{file}:decorated").option(name, given) == value

    @pytest.mark.parametrize(("name", "text", "kind"), [("power", "high", "float"), ("up", "maybe", "bool")])
    def test_text_of_another_type(self, file, name, text, kind):
        with pytest.raises(KernelError, match=f"option {name} of .*: found '{text}', allowed is {kind}"):
            get_kernel(f"{file}:decorated").option(name, text)


class TestOutputs:
    def test_one_is_called_out(self):
        assert set(run_kernel(kernel(lambda x: x + x), {"x": X}).outputs) == {"out"}

    def test_several_are_numbered(self):
        assert set(run_kernel(kernel(lambda x: (x + x, x * x)), {"x": X}).outputs) == {"out0", "out1"}

    def test_a_mapping_names_them(self):
        found = run_kernel(kernel(lambda x: {"twice": x + x, "same": x}), {"x": X}).outputs
        assert {n: v.tolist() for n, v in found.items()} == {"twice": [2.0, 4.0, 6.0], "same": [1.0, 2.0, 3.0]}

    @pytest.mark.parametrize(
        ("fmt", "dtype"),
        [
            ("fp16", "float16"),
            ("bf16", "bfloat16"),
            ("e4m3fn", "float8_e4m3fn"),
            ("fp32", "float32"),
            ("fp64", "float64"),
        ],
    )
    def test_arrays_have_the_ecosystems_types(self, fmt, dtype):
        assert run_kernel(kernel(lambda x: x + x), {"x": X}, format=fmt).outputs["out"].dtype.name == dtype


class TestNames:
    def test_registered_kernels(self):
        assert isinstance(KERNELS, Registry)
        assert {"pow", "softmax", "layernorm", "matmul", "reduce_sum"} <= set(KERNELS)

    def test_an_unknown_kernel_names_the_nearest(self):
        with pytest.raises(UnknownNameError, match=r"unknown kernel 'sofmax'. Did you mean 'softmax'\?"):
            run_kernel("sofmax", {"x": X})

    def test_functions_and_kernels_are_taken_as_they_are(self):
        made = kernel(lambda x: x + x)
        assert get_kernel(made) is made
        assert get_kernel(lambda x: x).inputs == {"x": True}

    def test_no_kernels_file_hides_a_name_of_the_package(self):
        """Discovering imports every file, and a file's module takes the place of a function of that name."""
        assert len(tuple(KERNELS)) > 0
        assert [n for n in precdiff.kernels.__all__ if isinstance(getattr(precdiff.kernels, n), types.ModuleType)] == []

    def test_the_example_in_a_docstring_is_no_kernel_of_ours(self):
        before, doctests = list(KERNELS), doctest.DocTestFinder().find(sys.modules["precdiff.kernels.kernel"])
        for example in doctests:
            doctest.DocTestRunner().run(example, out=io.StringIO().write)
        assert any(example.examples for example in doctests)
        assert list(KERNELS) == before

    def test_limits(self):
        assert (str(ulp(4)), str(backward(2.5))) == ("ulp(4)", "backward(2.5)")
        assert kernel(lambda x: x).limit == Limit("ulp", 4)

    def test_kernels_call_kernels_in_layers(self):
        inner = kernel(name="inner")(lambda x: ops.exp(-x))
        trace = run_kernel(kernel(name="outer")(lambda x: inner(x) + inner(x * 2.0)), {"x": X}).trace
        assert [(s.id, s.layer) for s in trace.steps if s.op == "exp"] == [
            ("inner/exp", "outer/inner"),
            ("inner/exp#2", "outer/inner"),
        ]


def test_two_runs_with_one_seed_are_equal_under_stochastic_rounding():
    def values(seed):
        profile = get_profile("ieee").with_(direction="stochastic")
        return run_kernel(kernel(lambda x: x * 0.1), {"x": X}, profile=profile, seed=seed).outputs["out"].tolist()

    assert values(1) == values(1)


def test_an_error_of_ours_is_a_precdiff_error():
    assert issubclass(KernelError, PrecDiffError)
