"""Why: evidence, one rule a cause, and proofs by replay."""

from precdiff.diagnose.diagnose import diagnose
from precdiff.diagnose.evidence import Evidence
from precdiff.diagnose.finding import Counterfactual, Finding
from precdiff.diagnose.problem import Problem, split
from precdiff.diagnose.rule import RULES, CauseRule, Hypothesis, cause_rule

__all__ = [
    "RULES",
    "CauseRule",
    "Counterfactual",
    "Evidence",
    "Finding",
    "Hypothesis",
    "Problem",
    "cause_rule",
    "diagnose",
    "split",
]
