"""Inputs that test: seeded SPECs and raw files.

Read generator.py (what a generator is), distributions.py (the rows), spec.py (their text), rawfile.py (arrays from
files) and inputs.py (an input given on the command line: number, SPEC or file).
"""

from precdiff.generate import distributions as distributions  # registers the rows
from precdiff.generate.generator import GENERATORS, Draw, Generator
from precdiff.generate.inputs import input_array, stream
from precdiff.generate.rawfile import read_array
from precdiff.generate.spec import Spec, generate, parse_spec

__all__ = [
    "GENERATORS",
    "Draw",
    "Generator",
    "Spec",
    "generate",
    "input_array",
    "parse_spec",
    "read_array",
    "stream",
]
