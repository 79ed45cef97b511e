"""sinh, cosh, their inverses, and erfc.

Special values are those of IEEE 754-2019 9.2.1 and, for erfc, of C23 Annex F.10.8.2: sinh and asinh keep the sign of
zero and infinity, cosh(+-inf) = +inf, acosh is NaN below 1, atanh(+-1) = +-inf (poles) and NaN beyond, erfc(-inf) = 2,
erfc(+inf) = +0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from precdiff.ops import enclosure, pieces
from precdiff.ops.functions import _HOST
from precdiff.ops.op import OPS, Elementwise
from precdiff.ops.trigonometry import above, below

# numpy has no erfc: the C library's, of which glibc's manual says 5 ulp on x86
_ERFC = 8.0
_erfc_plain = np.frompyfunc(math.erfc, 1, 1)


def _erfc(x: Any) -> Any:
    return np.asarray(_erfc_plain(x), np.float64)


def _cut(m: Any, x: Any, bits: int = 1100) -> Any:
    """x, or the infinity it stands for where e^x needs an exponent of that many bits."""
    return m.sign(x) * m.inf if m.isfinite(x) and m.mag(x) > bits else x


def _acosh_mp(m: Any, x: Any) -> Any:
    return m.acosh(x) if x >= 1 else m.nan


def _atanh_mp(m: Any, x: Any) -> Any:
    if abs(x) == 1:
        return m.sign(x) * m.inf
    return m.atanh(x) if abs(x) < 1 else m.nan


sinh = Elementwise(
    "sinh", bound=_HOST, host=np.sinh, inside=above, enclose=enclosure.increasing(np.sinh, _HOST),
    ball=lambda x: x.sinh(), mp=lambda m, x: m.sinh(_cut(m, x)), vjp=lambda g, out, x: (g * OPS["cosh"](x),),
)  # fmt: skip
cosh = Elementwise(
    "cosh", bound=_HOST, host=np.cosh, inside=lambda x: (1.0, math.inf),
    enclose=pieces.even(enclosure.increasing(np.cosh, _HOST, low=1.0)), ball=lambda x: x.cosh(),
    mp=lambda m, x: m.cosh(_cut(m, x)), vjp=lambda g, out, x: (g * OPS["sinh"](x),),
)  # fmt: skip
asinh = Elementwise(
    "asinh", bound=_HOST, host=np.arcsinh, inside=below, enclose=enclosure.increasing(np.arcsinh, _HOST),
    ball=lambda x: x.asinh(), mp=lambda m, x: m.asinh(x), vjp=lambda g, out, x: (g / OPS["hypot"](x, 1.0),),
)  # fmt: skip
acosh = Elementwise(
    "acosh", bound=_HOST, host=np.arccosh, enclose=enclosure.increasing(np.arccosh, _HOST, low=0.0),
    ball=lambda x: x.acosh(), mp=_acosh_mp, vjp=lambda g, out, x: (g * OPS["rsqrt"](x * x - 1.0),),
)  # fmt: skip
atanh = Elementwise(
    "atanh", bound=_HOST, host=np.arctanh, inside=above,
    enclose=pieces.within(
        pieces.poles_at(enclosure.increasing(np.arctanh, _HOST), np.arctanh, 1.0), -1.0, 1.0
    ),
    ball=lambda x: x.atanh(), mp=_atanh_mp, vjp=lambda g, out, x: (g / (1.0 - x * x),),
)  # fmt: skip
erfc = Elementwise(
    "erfc", bound=_ERFC, host=_erfc, inside=lambda x: (0.0, 2.0),
    enclose=enclosure.decreasing(_erfc, _ERFC, low=0.0, high=2.0), ball=lambda x: x.erfc(),
    mp=lambda m, x: m.erfc(_cut(m, x, 200)), vjp=lambda g, out, x: (-(g * 1.1283791670955126 * OPS["exp"](-(x * x))),),
)  # fmt: skip
