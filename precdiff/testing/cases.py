"""The cases of data of a `precdiff_data` mark (precdiff.generate), or one error that names the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from precdiff.errors import PrecDiffError
from precdiff.generate import data_cases


def cases_of(where: str, target: Any, options: Mapping[str, Any]) -> list[Any]:
    """The cases of a target; what is wrong with the mark fails the collection."""
    try:
        cases = data_cases(target, **options)
    except PrecDiffError as error:
        raise pytest.Collector.CollectError(f"{where}: @pytest.mark.precdiff_data: {error}") from None
    if not cases:
        raise pytest.Collector.CollectError(f"{where}: @pytest.mark.precdiff_data({target!r}): there is no such case")
    return list(cases)
