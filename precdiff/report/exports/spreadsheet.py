"""CSV (RFC 4180): a line a tensor, all figures in full, columns named as in precdiff.report/1.

Numbers are written so that they read back exactly; non-finite ones as nan, inf, -inf. Spreadsheets take a cell that
begins with = + - @ (or their wide forms) for a formula, so a text that does gets a ' in front
(owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from precdiff.comparison import TensorComparison
from precdiff.report.printable import printable
from precdiff.report.report import Report

_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")

_FIELDS = (
    "id name layer op source iteration rank phase role format shape verdict rule compared excused over_limit "
    "max_ulp mean_ulp mean_signed_ulp p50_ulp p99_ulp max_abs max_rel rmse cosine snr_db snr_loss_db unavoidable_ratio"
).split()
_NESTED: dict[str, Callable[[TensorComparison], Any]] = {
    "error_total": lambda row: row.errors.total,
    "error_storage": lambda row: row.errors.storage,
    "error_local": lambda row: row.errors.local,
    "error_inherited": lambda row: row.errors.inherited,
    "nonfinite_actual": lambda row: row.nonfinite.actual,
    "nonfinite_expected": lambda row: row.nonfinite.expected,
    "nonfinite_mismatched": lambda row: row.nonfinite.mismatched,
    "sha256": lambda row: row.sha256,
    "waived_by": lambda row: row.waived and row.waived.author,
    "waived_until": lambda row: row.waived and row.waived.expires,
    "waived_because": lambda row: row.waived and row.waived.reason,
}
COLUMNS = (*_FIELDS, *_NESTED)
#: how every file begins, by which an older one is known
MARK = ",".join(COLUMNS[:6])


def render(report: Report) -> str:
    """The table."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in _values(tensor)] for tensor in report.tensors)
    return text.getvalue()


def render_error(actual: str, message: str) -> str:
    """The table of a comparison that could not be made: no tensor."""
    return f"{','.join(COLUMNS)}\r\n"


def _values(tensor: TensorComparison) -> list[Any]:
    return [*(getattr(tensor, name) for name in _FIELDS), *(read(tensor) for read in _NESTED.values())]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return "x".join(map(str, value))
    if not isinstance(value, str):
        return repr(float(value)) if isinstance(value, float) else str(value)
    plain = printable(value)
    return f"'{plain}" if plain.lstrip().startswith(_FORMULA) else plain
