"""What the kernels mean, element by element in mpmath: formulas of their sources, none through precdiff.

Tensors are numpy arrays of mpf. A definition takes a kernel's inputs by name and gives its outputs by name.
"""

import mpmath
import numpy as np
from mpmath import mp, mpf

DIGITS = 80


def numbers(array):
    """The elements as mpf, exactly."""
    flat = [mpf(float(v)) for v in np.asarray(array, np.float64).ravel()]
    made = np.empty(np.shape(array), object)
    made.ravel()[:] = flat
    return made


def elementwise(function):
    def apply(x):
        made = np.empty(x.shape, object)
        made.ravel()[:] = [function(v) for v in x.ravel()]
        return {"out": made}

    return apply


def rowwise(function):
    """`function` of every row, which gives a row or a number."""

    def apply(x, **others):
        rows = [function(list(row), **others) for row in x.reshape(-1, x.shape[-1])]
        return np.array(rows, object).reshape(x.shape if isinstance(rows[0], list) else x.shape[:-1])

    return apply


def softmax_row(row):
    total = sum(mpmath.exp(v) for v in row)
    return [mpmath.exp(v) / total for v in row]


def logsumexp_row(row):
    return mpmath.log(sum(mpmath.exp(v) for v in row))


def layernorm_row(row, gamma, beta):
    mean = sum(row) / len(row)
    deviation = mpmath.sqrt(sum((v - mean) ** 2 for v in row) / len(row) + mpf(1e-5))
    return [(v - mean) / deviation * g + b for v, g, b in zip(row, gamma, beta, strict=True)]


def rmsnorm_row(row, gamma):
    size = mpmath.sqrt(sum(v * v for v in row) / len(row) + mpf(1e-5))
    return [v / size * g for v, g in zip(row, gamma, strict=True)]


def gelu(x):
    return x * mpmath.ncdf(x)


def gelu_tanh(x):
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)))


def log_softmax(x):
    return rowwise(lambda row: [v - logsumexp_row(row) for v in row])(x)


def cross_entropy(x, target):
    losses = [-row[int(t)] for row, t in zip(log_softmax(x), target.ravel(), strict=True)]
    return {"out": np.array(sum(losses) / len(losses), object)}


def attention(q, k, v):
    made = np.empty((*q.shape[:-1], v.shape[-1]), object)
    for batch in np.ndindex(q.shape[:-2]):
        for i, query in enumerate(q[batch]):
            weights = softmax_row([sum(query * key) / mpmath.sqrt(len(query)) for key in k[batch]])
            made[(*batch, i)] = sum(w * value for w, value in zip(weights, v[batch], strict=True))
    return {"out": made}


def rope(x):
    made, half = np.empty(x.shape, object), x.shape[-1] // 2
    for place in np.ndindex((*x.shape[:-1], half)):
        *lead, position, i = place
        angle = position * mpf(10000) ** (mpf(-2 * i) / (2 * half))
        one, two = x[(*lead, position, i)], x[(*lead, position, i + half)]
        made[(*lead, position, i)] = one * mpmath.cos(angle) - two * mpmath.sin(angle)
        made[(*lead, position, i + half)] = two * mpmath.cos(angle) + one * mpmath.sin(angle)
    return {"out": made}


def conv2d(x, w, stride=1, padding=0):
    n, channels, height, width = x.shape
    filters, _, rows, columns = w.shape
    shape = [(size + 2 * padding - k) // stride + 1 for size, k in ((height, rows), (width, columns))]
    made = np.empty((n, filters, *shape), object)
    for b, o, i, j in np.ndindex(made.shape):
        total = mpf(0)
        for c, p, q in np.ndindex(channels, rows, columns):
            row, column = i * stride + p - padding, j * stride + q - padding
            if 0 <= row < height and 0 <= column < width:
                total += x[b, c, row, column] * w[o, c, p, q]
        made[b, o, i, j] = total
    return {"out": made}


def adam_step(param, grad, m, v):
    lr, beta1, beta2, eps = mpf("0.001"), mpf("0.9"), mpf("0.999"), mpf("1e-8")
    first = beta1 * m + (1 - beta1) * grad
    second = beta2 * v + (1 - beta2) * grad**2
    root = np.array([mpmath.sqrt(s / (1 - beta2)) for s in second], object)
    return {"param": param - lr * (first / (1 - beta1)) / (root + eps), "m": first, "v": second}


def out(function):
    return lambda **inputs: {"out": function(**inputs)}


DEFINITIONS = {
    "softmax": out(rowwise(softmax_row)),
    "layernorm": out(rowwise(layernorm_row)),
    "rmsnorm": out(rowwise(rmsnorm_row)),
    "silu": elementwise(lambda v: v / (1 + mpmath.exp(-v))),
    "sigmoid": elementwise(lambda v: 1 / (1 + mpmath.exp(-v))),
    "gelu": elementwise(gelu),
    "gelu_tanh": elementwise(gelu_tanh),
    "logsumexp": out(rowwise(logsumexp_row)),
    "log_softmax": out(log_softmax),
    "cross_entropy": cross_entropy,
    "attention": attention,
    "flash_attention": attention,
    "rope": rope,
    "conv2d": conv2d,
    "adam_step": adam_step,
    "matmul": out(lambda a, b: a @ b),
    "reduce_sum": out(lambda x: np.sum(x, axis=-1)),
}


def derivatives(forward, inputs, dy):
    """d<name>[i] of sum dy f(inputs), by central differences of 10^-25 at 80 digits: right to about 10^-50."""
    step = mpf(10) ** -25

    def loss(changed):
        return np.sum(dy * DEFINITIONS[forward](**changed)["out"])

    def slope(name, place):
        moved = []
        for sign in (1, -1):
            changed = inputs[name].copy()
            changed[place] += sign * step
            moved.append(loss({**inputs, name: changed}))
        return (moved[0] - moved[1]) / (2 * step)

    found = {}
    for name, x in inputs.items():
        found[f"d{name}"] = np.empty(x.shape, object)
        for place in np.ndindex(x.shape):
            found[f"d{name}"][place] = slope(name, place)
    return found
