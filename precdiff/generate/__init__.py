"""Inputs that test: seeded SPECs, raw files, and the data classes that break kernels.

Read generator.py (what a generator is), distributions.py (the rows), spec.py (their text), rawfile.py (arrays from
files) and inputs.py (an input given on the command line: number, SPEC or file); then target.py and subject.py (what
data is made for), cases.py (data classes and `data_cases`) and classes/ (their rows, a class a file); golden.py and
layout.py (cases as files); scoring.py, mutation.py and search.py (`hunt`: the inputs on which a kernel is most wrong).
"""

from precdiff.generate import distributions as distributions  # registers the rows
from precdiff.generate.cases import DATA_ROWS, DataCase, data_cases, data_classes
from precdiff.generate.generator import GENERATORS, Draw, Generator
from precdiff.generate.inputs import input_array, input_format, stream
from precdiff.generate.layout import check_place, write_cases
from precdiff.generate.rawfile import read_array
from precdiff.generate.search import Hunt, hunt, hunted_cases
from precdiff.generate.spec import Spec, generate, parse_spec

__all__ = [
    "DATA_ROWS",
    "GENERATORS",
    "DataCase",
    "Draw",
    "Generator",
    "Hunt",
    "Spec",
    "check_place",
    "data_cases",
    "data_classes",
    "generate",
    "hunt",
    "hunted_cases",
    "input_array",
    "input_format",
    "parse_spec",
    "read_array",
    "stream",
    "write_cases",
]
