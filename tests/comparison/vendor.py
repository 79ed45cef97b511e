"""The vendors' own rules, written down again from their published scripts and formulas in plain numpy.

Nothing of precdiff is imported: these are what the standards are held against. a is what a device gave, r the expected
values, b a peer's, all float64 arrays of values of the format.
"""

import numpy as np


def isclose(a, r, rtol, atol, share):
    """verify_result.py of the Ascend samples."""
    different = np.where(np.isclose(a, r, rtol=rtol, atol=atol, equal_nan=True) == False)[0]  # noqa: E712 - as there
    return float(different.size) / r.size <= share


def mixed(a, r, rtol, atol, limit, ulp):
    """opbase: mixed tolerance; ulp is that of each expected value."""
    error = np.abs(a - r)
    matched = (error <= atol + rtol * np.abs(r)).mean()
    return matched >= 0.99 and (error <= np.maximum(limit, 32 * ulp)).all()


def threshold(a, r, most):
    """MERE < T and MARE < 10 T."""
    relative = np.abs(a - r) / (np.abs(r) + 1e-7)
    return relative.mean() < most and relative.max() < 10 * most


def dual_ratios(a, b, r, small, tiny):
    """CANN's cross check: MARE, MERE and RMSE of large values and the error count of small ones, over the peer's."""
    large = np.abs(r) >= small
    ratios = []
    if large.any():
        own, peer = (np.abs(x[large] - r[large]) / (np.abs(r[large]) + 1e-7) for x in (a, b))
        ratios = [own.max() / max(peer.max(), small), own.mean() / max(peer.mean(), small)]
        root = [np.sqrt(np.mean((x[large] - r[large]) ** 2)) for x in (a, b)]
        ratios.append(root[0] / max(root[1], small))
    else:
        ratios = [0.0, 0.0, 0.0]
    count = [int(np.sum(~large & (np.abs(x - r) > tiny))) for x in (a, b)]
    return [*ratios, count[0] / max(count[1], 1)]


def dual(a, b, r, small, tiny, limits):
    """Whether every ratio is within the level's."""
    return all(ratio <= limit for ratio, limit in zip(dual_ratios(a, b, r, small, tiny), limits, strict=True))


def bootstrap(ratios, seed):
    """Lower end of the 95 % interval of the median: 2,000 resamples; ratios of one figure over the runs."""
    rng = np.random.default_rng(seed)
    medians = [np.median(rng.choice(ratios, ratios.size)) for _ in range(2000)]
    return np.sort(medians)[50]


def ulps(a, r, mantissa, emin):
    """msprobe, get_ulp_err."""
    size = np.abs(r)
    with np.errstate(divide="ignore"):
        exponent = np.where(size == 0, 0, np.floor(np.log2(size)))
    return np.abs((a - r) * np.exp2(-np.maximum(exponent, emin) + mantissa))


def ulp_passes(a, r, mantissa, emin, fp32, peer=None):
    """msprobe, UlpPrecisionCompare."""
    errors, most, limit = ulps(a, r, mantissa, emin), 32 if fp32 else 1, 0.05 if fp32 else 0.001
    share = np.sum(errors > most) / r.size
    if (fp32 and errors.mean() < 64) or share < limit:
        return True
    floor = {10: 2**-11, 7: 2**-8, 23: 2**-14}[mantissa]
    return peer is not None and share / max(np.sum(ulps(peer, r, mantissa, emin) > most) / r.size, floor) < 1


def reached(a, r):
    """msprobe 8.x, check_accuracy."""
    cosine = np.dot(a, r) / (np.linalg.norm(a) * np.linalg.norm(r))
    largest = np.abs(a - r).max()
    return not ((cosine < 0.99 and largest > 0.001) or cosine < 0.9 or largest > 1)


def api(a, r, eps, wide):
    """msprobe acc_check, first step: pass, warning or error; `wide` for fp32 and fp64."""
    cosine = np.dot(a, r) / (np.linalg.norm(a) * np.linalg.norm(r))
    relative = np.abs(np.abs(a - r) / (np.abs(r) + eps))

    def close(below):
        return np.sum(relative < below) / relative.size > 1 - below

    if not cosine > 0.99:
        return "error"
    if np.abs(a - r).max() < 0.001:
        return "pass"
    gates = (0.001, 0.0001) if wide else (0.01, 0.001)
    if not close(gates[0]):
        return "error"
    return "pass" if close(gates[1]) else "warning"


def opencl_ulps(a, r, mantissa, emin, rounded):
    """OpenCL-CTS, Ulp_Error: the gap below a power of two, ilogb(0) is INT_MIN; 0 where a is the value rounded once."""
    fraction, exponent = np.frexp(r)
    exponent = np.where(r == 0.0, emin, exponent - 1 - (np.abs(fraction) == 0.5))
    errors = (a - r) * np.exp2(mantissa - np.maximum(exponent, emin))
    return np.where(a == rounded, 0.0, np.abs(errors))
