"""The names msprobe gives to calls, taken apart.

    API call               {Prefix}.{api}.{call}.{forward | backward}             Functional.linear.0.forward
    module call            Module.{path}.{Class}.{forward | backward}.{call}      Module.layers.0.qkv.Linear.forward.0
    parameter gradients    Module.{path}.{Class}.parameters_grad[.{n}]            Module.head.Linear.parameters_grad.0

The number stands before the phase for an API and after it for a module; a path holds dots and numbers itself, so names
are read from the right. MindSpore says Cell for Module. Any other name is an op of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_API = re.compile(r"(?P<op>.+)\.(?P<call>\d+)\.(?P<phase>forward|backward)")
_MODULE = re.compile(
    r"(?P<kind>Module|Cell)\.(?:(?P<path>.+)\.)?(?P<class>[^.]+)\.(?P<phase>forward|backward|parameters_grad)"
    r"(?:\.(?P<call>\d+))?"
)
_DEBUG = re.compile(r"(?P<op>.+?)(?P<grad>_grad)?\.(?P<call>\d+)\.debug")


@dataclass(frozen=True)
class CallName:
    """`op` is Functional.linear or Module.Linear; `path` the module's, with dots; `grads` that of its parameters."""

    op: str
    path: str
    call: int | None
    phase: str
    is_module: bool = False
    grads: bool = False


def parse_call(name: str) -> CallName:
    """The parts of a name.

    >>> parse_call("Functional.linear.0.forward")
    CallName(op='Functional.linear', path='', call=0, phase='forward', is_module=False, grads=False)
    >>> parse_call("Module.layers.0.mlp.up.Linear.backward.2").path
    'layers.0.mlp.up'
    """
    module = _MODULE.fullmatch(name)
    if module:
        grads = module["phase"] == "parameters_grad"
        phase = "backward" if grads else module["phase"]
        return CallName(f"{module['kind']}.{module['class']}", module["path"] or "", _number(module["call"]), phase,
                        is_module=True, grads=grads)  # fmt: skip
    api = _API.fullmatch(name)
    if api:
        return CallName(api["op"], "", int(api["call"]), api["phase"])
    debug = _DEBUG.fullmatch(name)
    if debug:
        return CallName(debug["op"], "", int(debug["call"]), "backward" if debug["grad"] else "forward")
    return CallName(name, "", None, "backward" if "backward" in name.split(".") else "forward")


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
