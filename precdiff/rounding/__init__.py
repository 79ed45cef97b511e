"""How a real number becomes a number of a format.

Read rounding.py (the choices), exact.py (the definition), array.py (the same for arrays), error_free.py and then
arithmetic.py (operations rounded once), whose definition is exact_arithmetic.py.
"""

from precdiff.rounding.arithmetic import add, divide, fma, multiply, sqrt, subtract
from precdiff.rounding.array import round_array, round_integer
from precdiff.rounding.error_free import round_to_odd, two_product, two_sum
from precdiff.rounding.exact import round_exact
from precdiff.rounding.exact_integer import round_integer_exact
from precdiff.rounding.rounding import DIRECTIONS, Direction, NanRule, Overflow, Rounding, Subnormals

__all__ = [
    "DIRECTIONS",
    "Direction",
    "NanRule",
    "Overflow",
    "Rounding",
    "Subnormals",
    "add",
    "divide",
    "fma",
    "multiply",
    "round_array",
    "round_exact",
    "round_integer",
    "round_integer_exact",
    "round_to_odd",
    "sqrt",
    "subtract",
    "two_product",
    "two_sum",
]
