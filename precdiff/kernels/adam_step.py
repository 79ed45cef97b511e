"""adam_step: one step of Adam (Kingma and Ba 2015, algorithm 1), moments and bias correction included.

    m' = beta1 m + (1 - beta1) g         v' = beta2 v + (1 - beta2) g^2
    param' = param - lr m' / (1 - beta1^step) / (sqrt(v' / (1 - beta2^step)) + eps)

Coefficients are numbers of the host in binary64, as torch.optim computes them; tensors hold the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from precdiff.errors import KernelError
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor
from precdiff.ops import sqrt

_EXAMPLES = {
    "param": "normal(0,1,shape=(1024,))", "grad": "normal(0,0.01,shape=(1024,))",
    "m": "normal(0,0.001,shape=(1024,))", "v": "uniform(0,0.0001,shape=(1024,))",
}  # fmt: skip


def _stepped(
    tensors: Sequence[Tensor], step: int, lr: float, betas: tuple[float, float], eps: float
) -> dict[str, Tensor]:
    """The step of (param, grad, m, v) in their own format."""
    if step < 1:
        raise KernelError(f"adam_step: step is {step}; allowed are 1 and more")
    param, grad, m, v = tensors
    beta1, beta2 = betas
    first = beta1 * m + (1 - beta1) * grad
    second = beta2 * v + (1 - beta2) * (grad * grad)
    scale = sqrt(second / (1 - beta2**step)) + eps
    return {"param": param - lr / (1 - beta1**step) * first / scale, "m": first, "v": second}


@kernel(limit=backward(8), examples=_EXAMPLES)
def adam_step(  # noqa: PLR0913 - the algorithm's own
    param: Tensor, grad: Tensor, m: Tensor, v: Tensor, *, step: int = 1, lr: float = 1e-3, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-8, inner: str = INNER,
) -> dict[str, Tensor]:  # fmt: skip
    """One step of Adam: param, m and v after it, computed in `inner`, stored in their own formats.

    The limit is relative to the two terms of each last addition, which have either sign: |beta1 m| + |(1 - beta1) g|
    for m, |param| + |update| for param.
    """
    wide = [inside(t, inner) for t in (param, grad, m, v)]
    made = _stepped(wide, step, lr, (beta1, beta2), eps)
    return {name: outside(made[name], like) for name, like in (("param", param), ("m", m), ("v", v))}


@kernel(name="adam_step_naive", limit=backward(8), reference=adam_step, examples=_EXAMPLES)
def adam_step_naive(  # noqa: PLR0913 - the algorithm's own
    param: Tensor, grad: Tensor, m: Tensor, v: Tensor, *, step: int = 1, lr: float = 1e-3, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-8,
) -> dict[str, Tensor]:  # fmt: skip
    """The known bad form: all in the inputs' format. In fp16 (1 - beta2) g^2 underflows, and eps = 1e-8 is 0."""
    return _stepped((param, grad, m, v), step, lr, (beta1, beta2), eps)
