"""Say it: one Report, its JSON round trip, and the one maker of messages for terminal, assertion and pages.

Read report.py (the data), rows.py and findings.py (the words and numbers), text.py (the layout).
"""

from precdiff.report.report import SCHEMA, Agreed, Beyond, Candidate, Report, Unmatched
from precdiff.report.text import assertion, render

__all__ = ["SCHEMA", "Agreed", "Beyond", "Candidate", "Report", "Unmatched", "assertion", "render"]
