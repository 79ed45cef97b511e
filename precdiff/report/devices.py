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
    named["search"] = cut_off(report)
    return facts + [(label, str(value)) for label, value in named.items() if value]


def cut_off(report: Report) -> str:
    """That the search for the device's bits did not come to its end; empty where it did, or there was none."""
    budget = report.provenance.get("search_cut_off")
    return f"cut off after its {budget}: a longer one may find more" if budget else ""
