"""What a report says of a device whose output alone was given: how the emulation compares, and what gives its bits."""

from __future__ import annotations

from precdiff.report.report import Report


def device(report: Report) -> list[tuple[str, str]]:
    """Facts for the top of a report; none where steps were recorded."""
    made = report.provenance
    differing = made.get("differs_from_emulation")
    if differing is None:
        return []
    facts = [("device", f"{made.get('steps')}; {differing} bit patterns differ" if differing else "as emulated")]
    named = {"noise or bug": made.get("noise"), "reproduced by": made.get("reproduced_by")}
    named["nearest"] = made.get("nearest_configuration")
    return facts + [(label, str(value)) for label, value in named.items() if value]
