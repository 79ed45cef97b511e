"""@kernel: a function over tensors that PrecDiff can name, run, trace and judge.

Positional parameters are tensors (optional where the default is None); keyword-only parameters are options, typed by
their defaults. A kernel's reference is its own source in high precision unless it names another; its limit is what
question (b) of the standard `auto` asks of every output (DESIGN 4).
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import numbers
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

from precdiff.errors import FileError, KernelError, UnknownNameError
from precdiff.ops.op import owner
from precdiff.registry import Registry

KERNELS: Registry[Kernel] = Registry("kernel", "precdiff.kernels")


@dataclass(frozen=True)
class Limit:
    """`ulp`: |error| <= size ulp of the output; `backward`: error / sum |terms| <= size units u of the accumulator."""

    kind: Literal["ulp", "backward"]
    size: float

    def __post_init__(self) -> None:
        number = isinstance(self.size, numbers.Real) and not isinstance(self.size, bool)
        if not (number and self.size >= 0):
            raise KernelError(f"limit {self.kind}: found {self.size!r}; allowed is a number of at least 0")

    def __str__(self) -> str:
        return f"{self.kind}({self.size:g})"


def ulp(size: float) -> Limit:
    """At most `size` ulp of total error an element."""
    return Limit("ulp", size)


def backward(size: float) -> Limit:
    """At most `size` unit roundoffs of sum |terms|, plus the output's own rounding."""
    return Limit("backward", size)


@dataclass(frozen=True)
class Kernel:
    """A kernel; call it with Tensors of one machine. `examples` are input SPECs that show what it is for."""

    function: Callable[..., Any]
    name: str
    limit: Limit = field(default_factory=lambda: ulp(4))
    reference: Callable[..., Any] | None = None
    examples: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature."""
        return inspect.signature(self.function)

    @property
    def inputs(self) -> dict[str, bool]:
        """Input names; True where the input must be given."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        found = (p for p in self.signature.parameters.values() if p.kind in kinds)
        return {p.name: p.default is inspect.Parameter.empty for p in found}

    @property
    def options(self) -> dict[str, Any]:
        """Option names and defaults."""
        found = self.signature.parameters.values()
        return {p.name: p.default for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY}

    def option(self, name: str, text: str) -> Any:
        """An option's value from text, by the type of its default."""
        if name not in self.options:
            raise UnknownNameError(f"option of kernel {self.name}", name, self.options)
        default = self.options[name]
        try:
            return _parsed(text, default)
        except ValueError:
            raise KernelError(
                f"option {name} of {self.name}: found {text!r}, allowed is {type(default).__name__}"
            ) from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with owner(self.name, [*args, *kwargs.values()]).layer(self.name):
            return self.function(*args, **kwargs)


def _parsed(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return type(default)(text) if isinstance(default, int | float) else text


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *, name: str = "", limit: Limit | float | None = None, reference: Callable[..., Any] | None = None,
    examples: Mapping[str, str] | None = None, formats: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Kernel]: ...  # fmt: skip
def kernel(function: Callable[..., Any] | None = None, /, **row: Any) -> Any:
    """Make a function a Kernel; those of precdiff.kernels are registered by name. A number as `limit` is in ulp.

    >>> @kernel(limit=ulp(2))
    ... def double(x):
    ...     return x + x
    >>> double.inputs
    {'x': True}
    """
    if function is None:
        return lambda f: kernel_of(f, **row)
    return kernel_of(function)


def kernel_of(function: Callable[..., Any], name: str = "", **row: Any) -> Kernel:
    """The Kernel of a function, with the given fields."""
    given = {key: value for key, value in row.items() if value is not None}
    if "limit" in given:
        given["limit"] = _limit(given["limit"])
    made = Kernel(function, name or getattr(function, "__name__", type(function).__name__), **given)
    _check_parameters(made)
    if _is_row(str(getattr(function, "__module__", ""))):
        KERNELS.add(made.name, made)
    return made


def _is_row(module: str) -> bool:
    """Whether a function of that module is one of precdiff's kernels; those of this file are examples."""
    return module.startswith("precdiff.kernels.") and module != __name__


def _limit(given: Any) -> Limit:
    if isinstance(given, Limit):
        return given
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        return ulp(float(given))
    raise KernelError(f"@kernel(limit=...): found {given!r}; allowed are ulp(4), backward(3), or a number of ulp")


def _check_parameters(kernel: Kernel) -> None:
    try:
        found = kernel.signature.parameters.values()
    except (TypeError, ValueError):
        raise KernelError(f"kernel {kernel.name}: its parameters cannot be read; write a function around it") from None
    for p in found:
        if p.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise KernelError(
                f"kernel {kernel.name}: found the parameter {p}; inputs and options are known by their names. "
                "Name every input (x, y=None) and every option (*, axis=-1)"
            )
        if p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is inspect.Parameter.empty:
            raise KernelError(f"kernel {kernel.name}: the option {p.name} needs a default, which says its type")


def get_kernel(name: str | Kernel | Callable[..., Any]) -> Kernel:
    """A registered kernel, `path/to/file.py:function`, or the kernel itself."""
    if isinstance(name, Kernel):
        return name
    if callable(name):
        return kernel_of(name)
    if not isinstance(name, str):
        raise KernelError(f"kernel: found {type(name).__name__}; allowed are a name, file.py:function or a function")
    if name.endswith(".py"):
        raise KernelError(f"kernel {name}: a file holds several functions; name one, as in {name}:FUNCTION")
    path, separator, function = name.rpartition(":")
    return _from_file(path, function) if separator and path.endswith(".py") else KERNELS[name]


def _from_file(path: str, function: str) -> Kernel:
    file = Path(path)
    if not file.is_file():
        raise FileError(f"kernel {path}:{function}: there is no file {path!r} (working folder {Path.cwd()})")
    module = _loaded(file)
    names = [n for n, v in vars(module).items() if _is_kernel(v, module.__name__)]
    if function not in names:
        raise UnknownNameError(f"kernel in {path}:", function, names)
    made = get_kernel(getattr(module, function))
    return Kernel(made.function, f"{path}:{function}", made.limit, made.reference, made.examples, made.formats)


def _is_kernel(value: Any, module: str) -> bool:
    return isinstance(value, Kernel) or (inspect.isfunction(value) and value.__module__ == module)


def _loaded(file: Path) -> Any:
    name = f"precdiff_user_kernel_{abs(hash(file.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise KernelError(f"{file}: could not be loaded: {_where(error, str(file.resolve()))}") from error
    return module


def _where(error: BaseException, file: str) -> str:
    """The user's own line of an error, without our frames."""
    lines = (
        [f.lineno for f in inspect.getinnerframes(error.__traceback__) if f.filename == file]
        if error.__traceback__
        else []
    )
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
    return f"{type(error).__name__}: {error}" + (f" (line {line})" if line else "")
