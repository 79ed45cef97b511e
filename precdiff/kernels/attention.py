"""attention(q, k, v) = softmax(q k^T / sqrt d) v (Vaswani and others 2017): plain, tiled, and the known bad form.

q (..., n, d), k (..., m, d), v (..., m, e). flash_attention never holds a row of scores (Dao and others 2022, algorithm
1; Milakov and Gimelshein 2018): for every block of keys, with m the running maximum, l the running sum, o the output

    m' = max(m, max s),  c = e^(m - m'),  p = e^(s - m'),  l' = c l + sum p,  o' = c o + p v,   and o / l at the end.
"""

from __future__ import annotations

import math

from precdiff.errors import KernelError
from precdiff.formats import get_format
from precdiff.kernels.inside import INNER, inside, outside
from precdiff.kernels.kernel import backward, kernel
from precdiff.machine import Tensor
from precdiff.ops import exp, matmul, max_, maximum, sum_, transpose

_EXAMPLES = dict.fromkeys("qkv", "normal(0,1,shape=(2,32,16))")


def _scores(q: Tensor, k: Tensor, inner: str) -> Tensor:
    """q k^T / sqrt d, delivered in `inner` by the matrix unit."""
    wide = inner if inner and get_format(inner).p > q.format.p else None
    axes = (*range(k.ndim - 2), k.ndim - 1, k.ndim - 2)
    product: Tensor = matmul(q, transpose(k, axes), acc=wide, out=wide) / math.sqrt(q.shape[-1])
    return product


@kernel(limit=backward(16), examples=_EXAMPLES)
def attention(q: Tensor, k: Tensor, v: Tensor, *, inner: str = INNER) -> Tensor:
    """softmax(q k^T / sqrt d) v; scores, probabilities and sums in `inner`.

    The limit is relative to sum p |v|: values of either sign cancel in an average, whatever computes it. 16, not 4:
    the rounding of a score s is amplified |s| times by exp.
    """
    s = _scores(q, k, inner)
    e = exp(s - max_(s, axis=-1, keepdims=True))
    p = e / sum_(e, axis=-1, keepdims=True)
    return outside(matmul(p, inside(v, inner)), q)


@kernel(name="flash_attention", limit=backward(256), reference=attention, examples=_EXAMPLES)
def flash_attention(q: Tensor, k: Tensor, v: Tensor, *, block: int = 8, inner: str = INNER) -> Tensor:
    """attention, `block` keys at a time; running maximum, sum and output in `inner`.

    The limit is relative to the last addition's terms, |c o| + |p v|, sums that have cancelled already: 256 is what the
    example's outputs nearest to 0 need, not a bound. In 16-bit formats all stay within 0.6 ulp.
    """
    if block < 1:
        raise KernelError(f"flash_attention: block is {block}; allowed are 1 and more")
    top, total, output = _first(q, k[..., :block, :], inside(v[..., :block, :], inner), inner)
    for start in range(block, k.shape[-2], block):
        rows = slice(start, start + block)
        s = _scores(q, k[..., rows, :], inner)
        above = maximum(top, max_(s, axis=-1, keepdims=True))
        correction, p = exp(top - above), exp(s - above)
        total = correction * total + sum_(p, axis=-1, keepdims=True)
        output = correction * output + matmul(p, inside(v[..., rows, :], inner))
        top = above
    return outside(output / total, q)


def _first(q: Tensor, k: Tensor, v: Tensor, inner: str) -> tuple[Tensor, Tensor, Tensor]:
    """Maximum, sum and output of the first block: there is nothing to correct yet."""
    s = _scores(q, k, inner)
    top = max_(s, axis=-1, keepdims=True)
    p = exp(s - top)
    return top, sum_(p, axis=-1, keepdims=True), matmul(p, v)


@kernel(
    name="attention_naive", limit=backward(16), reference=attention,
    examples={**_EXAMPLES, "q": "normal(0,4,shape=(2,32,16))"},
)  # fmt: skip
def attention_naive(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The known bad form: all in the inputs' format and no shift, so e^s overflows fp16 from a score of 11.09 on."""
    e = exp(_scores(q, k, ""))
    y: Tensor = matmul(e / sum_(e, axis=-1, keepdims=True), v)
    return y
