"""Record a torch model while it runs: its modules by hooks, or every aten op by a dispatch mode, backward included.

    with precdiff.capture.torch(model, "run.h5", backward=True, level="ops"):
        model(x).sum().backward()

    modules    each module's inputs, parameters and outputs; gradients of inputs and outputs by full backward hooks,
               those of parameters when the block ends; names as msprobe gives them (dump/calls.py)
    ops        each aten op below autograd, the backward ones too: inputs as they are before the op, so that an op in
               place is judged; the layer is the module that is running (forward)

A tensor that was recorded and not written to since is named again, not copied again: the dump holds the data flow.
PyTorch 2.13: torch.utils._python_dispatch.TorchDispatchMode, torch.nn.modules.module hooks.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from precdiff.capture.recorder import Kept, Recorder
from precdiff.errors import PrecDiffError

Level = Literal["modules", "ops"]


@contextlib.contextmanager
def torch(
    model: Any, path: str | Path, *, backward: bool = True, level: Level = "ops", **recorder: Any
) -> Iterator[Recorder]:
    """Record what `model` does inside the block; further keywords go to the Recorder (data, iteration, rank)."""
    if level not in ("modules", "ops"):
        raise PrecDiffError(f"capture: found level {level!r}; allowed are 'modules' and 'ops'")
    _needs_torch(model)
    with Recorder(path, **recorder) as rec:
        recording = _Modules(rec, model, backward) if level == "modules" else _Ops(rec, model)
        with recording.running():
            yield rec
        recording.finish()


def _needs_torch(model: Any) -> None:
    try:
        from torch import nn
    except ImportError:
        raise PrecDiffError("capture.torch needs PyTorch: pip install 'precdiff[torch]'") from None
    if not isinstance(model, nn.Module):
        raise PrecDiffError(f"capture: found {type(model).__name__}; allowed is a torch.nn.Module")


class _Modules:
    """Hooks on every module of the model."""

    def __init__(self, rec: Recorder, model: Any, backward: bool) -> None:
        self._rec, self._model, self._backward = rec, model, backward
        self._counts: Counter[str] = Counter()
        self._open: dict[str, list[int]] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """With the hooks in place."""
        handles = []
        for path, module in self._model.named_modules():
            name = f"Module.{path}.{type(module).__name__}" if path else f"Module.{type(module).__name__}"
            handles.append(module.register_forward_hook(self._forward(name, path), with_kwargs=True))
            if self._backward:
                handles.append(module.register_full_backward_hook(self._gradient(name, path)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _forward(self, name: str, path: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, kwargs: Mapping[str, Any], output: Any) -> None:
            call = self._counts[f"{name}.forward"]
            self._counts[f"{name}.forward"] += 1
            self._open.setdefault(name, []).append(call)
            own = {f"parameters.{n}": p for n, p in module.named_parameters(recurse=False)}
            given = {f"input.{i}": a for i, a in enumerate(args)} | own | {f"kwargs.{k}": v for k, v in kwargs.items()}
            self._call(name, path, "forward", call, given, _outputs(output))

        return hook

    def _gradient(self, name: str, path: str) -> Callable[..., None]:
        def hook(module: Any, onto_inputs: Any, onto_outputs: Any) -> None:
            waiting = self._open.get(name) or [0]
            call = waiting.pop()
            given = {f"input.{i}": g for i, g in enumerate(_several(onto_outputs))}
            self._call(name, path, "backward", call, given, _outputs(onto_inputs))

        return hook

    def _call(
        self, name: str, path: str, phase: str, call: int, given: Mapping[str, Any], made: Mapping[str, Any]
    ) -> None:
        kind = f"Module.{name.rpartition('.')[2]}"
        self._rec.call(kind, given, made, id=f"{name}.{phase}.{call}", layer=path.replace(".", "/"), phase=phase)

    def finish(self) -> None:
        """The gradients of parameters, as the block leaves them."""
        for path, module in self._model.named_modules() if self._backward else ():
            own = module.named_parameters(recurse=False)
            grads = {n: p.grad for n, p in own if p.grad is not None}
            if grads:
                name = f"Module.{path}.{type(module).__name__}" if path else f"Module.{type(module).__name__}"
                kind, layer = f"Module.{type(module).__name__}", path.replace(".", "/")
                self._rec.call(kind, {}, grads, id=f"{name}.parameters_grad", layer=layer, phase="backward")


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _outputs(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {f"output.{key}": item for key, item in value.items()}
    return {f"output.{i}": item for i, item in enumerate(_several(value))}


class _Ops:
    """Every aten op; autograd's graph is above, so that backward ops come by as any other."""

    def __init__(self, rec: Recorder, model: Any) -> None:
        from torch.utils.weak import WeakTensorKeyDictionary

        self._rec, self._model = rec, model
        self._counts: Counter[str] = Counter()
        self._layers: list[str] = []
        #: tensor -> (its id in the dump, the version of its contents)
        self._known: Any = WeakTensorKeyDictionary()
        self._named = {id(p): name for name, p in model.named_parameters()}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """With the mode on, and with hooks that say which module is running."""
        handles = []
        for path, module in self._model.named_modules():
            handles.append(module.register_forward_pre_hook(self._entering(path.replace(".", "/"))))
            handles.append(module.register_forward_hook(self._leaving, always_call=True))
        try:
            with _mode(self._dispatched):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def _entering(self, layer: str) -> Callable[..., None]:
        def hook(module: Any, args: Any) -> None:
            self._layers.append(layer)

        return hook

    def _leaving(self, module: Any, args: Any, output: Any) -> None:
        if self._layers:
            self._layers.pop()

    def _dispatched(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Keep the inputs, run the op, keep what it made."""
        name = ".".join(str(function).split(".")[:3])
        call = self._counts[name]
        self._counts[name] += 1
        id = f"{name}.{call}.forward"
        given = self._kept({**{f"input.{i}": a for i, a in enumerate(args)},
                            **{f"kwargs.{k}": v for k, v in kwargs.items()}}, id, "input")  # fmt: skip
        result = function(*args, **kwargs)
        made = self._kept(_outputs(result), id, "output", made=True)
        self._rec.call(name, given, made, id=id, layer=self._layers[-1] if self._layers else "")
        return result

    def finish(self) -> None:
        """Nothing is left to keep."""

    def _kept(self, values: Mapping[str, Any], step: str, role: str, *, made: bool = False) -> dict[str, Any]:
        return {name: self._keep(value, f"{step}.{name}", role, made=made) for name, value in values.items()}

    def _keep(self, value: Any, name: str, role: str, *, made: bool) -> Any:
        """The value with its tensors recorded."""
        from torch import Tensor

        if isinstance(value, list | tuple):
            return [self._keep(item, f"{name}.{i}", role, made=made) for i, item in enumerate(value)]
        if not isinstance(value, Tensor):
            return value
        known, version = self._known.get(value), value._version  # noqa: SLF001 - torch's only count of writes
        if known is not None and known[1] == version and not made:
            return Kept(known[0])
        kept = self._rec.record(
            name, value, role=self._role(value, role), layer=self._layers[-1] if self._layers else ""
        )
        self._known[value] = (kept, version)
        return Kept(kept)

    def _role(self, value: Any, role: str) -> str:
        return "parameter" if role == "input" and id(value) in self._named else role


def _mode(dispatched: Callable[..., Any]) -> Any:
    """The dispatch mode that calls `dispatched(op, args, kwargs)` for every op; nothing it does itself comes by."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]  # torch is an extra: its classes are Any to the checker
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return dispatched(func, args, kwargs or {})

    return Mode()
