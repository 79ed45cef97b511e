"""A field case: its JSON, its inputs bit for bit, and the run of the kernel that restates it."""

import json
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from precdiff import api
from precdiff.diagnose.judgement import Judgement
from precdiff.formats import from_bits, get_format, native
from precdiff.rounding import Rounding, round_array

FOLDER = Path(__file__).parent / "cases"


class Case:
    def __init__(self, file, kernel, inputs):
        self.row = json.loads((FOLDER / f"field-{file}.json").read_text(encoding="utf-8"))
        self.kernel = kernel
        self.inputs = inputs(self)

    def input(self, name):
        """An input in the ecosystem's dtype."""
        row = self.row["inputs"][name]
        format = get_format(row["dtype"])
        if "gen" in row:
            return native(round_array(self._drawn(row["gen"]), Rounding(format)), format)
        codes = np.array([int(code, 16) for code in row["bits"]], format.storage)
        values = from_bits(codes, format).reshape(row["shape"])
        assert np.array_equal(values, np.array(row["values"], object).astype(np.float64), equal_nan=True)
        return native(values, format)

    @staticmethod
    def _drawn(gen):
        if gen["dist"] == "constant":
            return np.full(gen["shape"], float(gen["value"]))
        assert gen["dist"] == "normal"
        return np.random.Generator(np.random.PCG64(gen["seed"])).standard_normal(gen["shape"]) * gen["scale"]

    @cached_property
    def run(self):
        return api.run(self.kernel, inputs=self.inputs)

    @cached_property
    def report(self):
        return api.explain(self.run)

    @cached_property
    def judgement(self):
        return Judgement(self.run.trace, self.run.kernel)

    def named(self, name):
        """The step assigned to that name in the kernel."""
        return next(s for s in self.run.trace.steps if s.source.name == name)

    @property
    def output(self):
        return self.run.trace.values[self.run.trace.outputs["out"]].ravel()

    @property
    def expected(self):
        return self.row["expected_right_value"]

    @property
    def exact(self):
        return [Fraction(text) for text in self.expected["exact"]]

    @property
    def rounded_bits(self):
        return [int(code, 16) for code in self.expected["correctly_rounded"]["bits"]]

    @property
    def wrong(self):
        return [float(value) for value in self.row["observed_wrong"]["values"]]

    @property
    def accepted(self):
        return {self.row["root_cause"], *self.row["root_cause_also_accepted"]}


def rebuilt(file, kernel, inputs):
    """The case, made once and only when a test asks for it."""
    return cache(lambda: Case(file, kernel, inputs))
