"""Dumps of other programs, judged without a golden run: calls by their own inputs, tensors by what made them."""

from precdiff.diagnose.recorded.judging import Judged, judged_dump

__all__ = ["Judged", "judged_dump"]
