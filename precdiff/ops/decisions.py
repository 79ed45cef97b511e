"""Branches and loops that depend on values: `decide`, `cond`, `while_loop`.

A Python `if` on a tensor is refused, since number systems would take different paths. `decide` asks the running
machine, writes the answer down as a step, and gives a Python bool: the trace is the path that was taken. The reference
follows the same path; where its own value of the condition says otherwise, the report names the decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from precdiff.errors import KernelError
from precdiff.ops.op import Layout, owner

#: iterations after which a while_loop is taken to run away, unless the run says otherwise
MAX_ITERATIONS = 10_000

decide_row: Layout = Layout("decide", move=lambda x, taken: np.array(x, copy=True))


def decide(condition: Any) -> bool:
    """Whether the boolean tensor (of one element) holds on the running machine; recorded as a step."""
    machine = owner("decide", [condition])
    if condition.format.name != "bool" or condition.size != 1:
        raise KernelError(f"decide: found {condition.format.name} of shape {condition.shape}; allowed is one bool")
    lo, hi = (float(np.ravel(end)[0]) for end in machine.reals(condition).bounds())
    if lo != hi:
        raise KernelError(f"decide: {machine.name} cannot decide the condition; run the kernel on a device first")
    machine.apply(decide_row, (condition,), {"taken": bool(lo)})
    return bool(lo)


def cond(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then()` or `otherwise()`, by the decision of the running machine."""
    return then() if decide(condition) else otherwise()


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], *state: Any) -> tuple[Any, ...]:
    """Repeat `state = body(*state)` while `condition(*state)`; an error after the run's `max_iterations`."""
    machine = owner("while_loop", state)
    limit = getattr(machine, "max_iterations", MAX_ITERATIONS)
    count = 0
    while decide(condition(*state)):
        if count == limit:
            raise KernelError(
                f"while_loop: still running after {limit} iterations; raise --max-iterations to allow more"
            )
        made = body(*state)
        state = made if isinstance(made, tuple) else (made,)
        count += 1
    return state
