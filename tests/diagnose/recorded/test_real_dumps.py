"""The genuine msprobe dumps judged through `compare` and `explain`: what msprobe says of them is in their README."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from precdiff import api
from precdiff.errors import PrecDiffError

CASES = Path(os.environ.get("PRECDIFF_CASES", Path(__file__).parents[3] / "../shared/cases")) / "msprobe"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="real dumps: set PRECDIFF_CASES to the folder of cases")

#: gradients whose making was not recorded on either side, and a module whose inside was not
NOT_COMPARED = {
    "Functional.linear.4.backward.input.0", "Tensor.__add__.1.backward.input.0",
    "Functional.softmax.0.backward.input.0", "Functional.linear.0.backward.input.0",
    "Module.layers.0.Block.backward.0.output.0",
}  # fmt: skip
ATTENTION = "Module.layers.0.attn.Attention.forward.0.output.0"
MLP = "Module.layers.0.mlp.MLP.forward.0.output.0"


def changed(folder, name, id, change, dtype):
    """A copy of a dump with one tensor changed; a .pt file is a zip whose entry `data/0` are the numbers."""
    copy = folder / "copy"
    shutil.copytree(CASES / name, copy)
    (file,) = copy.rglob(f"{id}.pt")
    with zipfile.ZipFile(file) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for entry, content in parts.items():
            numbers = np.frombuffer(content, dtype) if "/data/" in entry else None
            archive.writestr(entry, content if numbers is None else change(numbers.copy()).astype(dtype).tobytes())
    return copy


def verdicts(report):
    return {verdict: [r.id for r in report.tensors if r.verdict == verdict] for verdict in ("fail", "not_compared")}


def test_bf16_against_fp32_without_a_fault_passes():
    """msprobe calls 228 of the rows errors, for their dtype."""
    report = api.compare(CASES / "bf16", CASES / "fp32")
    assert report.verdict == "pass"
    assert set(verdicts(report)["not_compared"]) == NOT_COMPARED == set(report.provenance["not_compared"])
    assert (len(report.tensors), report.provenance["paired_by"]) == (239, {"name": 239})
    assert (list(report.unmatched.actual), list(report.unmatched.expected)) == ([], [])


@pytest.mark.parametrize(
    "id",
    [
        "Functional.gelu.0.forward.output.0", "Functional.linear.2.forward.input.1", "Torch.matmul.0.forward.input.1",
        "Functional.softmax.0.backward.output.0", MLP, "Module.head.Linear.parameters_grad.0.weight",
    ],
)  # fmt: skip
def test_a_bf16_tensor_moved_by_16_ulp_fails_there(tmp_path, id):
    def moved(codes):
        return codes + np.uint16(16)

    report = api.compare(changed(tmp_path, "bf16", id, moved, "<u2"), CASES / "fp32")
    assert (report.verdict, report.first_divergence) == ("fail", id)


def test_a_silent_truncation_is_named_with_its_grid():
    """msprobe passes all of its rows."""
    report = api.explain(CASES / "fp32_truncate", CASES / "fp32")
    assert (report.first_divergence, verdicts(report)["fail"]) == (MLP, [MLP])
    assert "lies on the bf16 grid (8 of 24 significand bits)" in report.tensor(MLP).rule
    (found,) = report.findings
    assert (found.cause, found.standing, found.step) == ("intermediate_too_narrow", "verified", MLP)
    assert found.counterfactual.reproduces_bits
    assert len(report.unmatched.expected) == 112  # the expected side has the backward pass, too


def test_the_first_overflow_is_msprobes():
    report = api.explain(CASES / "fp16_overflow_stats")
    saved = json.loads((CASES / "results/fp16_overflow_first_anomaly.json").read_text())
    (first, *_) = saved["rank_0"]
    assert report.first_divergence == f"{first['op_name']}.output.0"
    assert (report.findings[0].cause, report.findings[0].step) == ("overflow", report.first_divergence)
    assert set(report.provenance["statistics_overflowed"]) == {
        "Functional.linear.2.forward.input.1", "Module.layers.0.mlp.up.Linear.forward.0.parameters.weight",
    }  # fmt: skip


def test_a_gradient_that_is_zero_but_for_rounding_is_not_the_worst():
    """The softmax does not depend on a shift of all keys: the middle third of the bias of q, k, v has gradient 0."""
    report = api.compare(CASES / "bf16", CASES / "fp32")
    row = report.tensor("Module.layers.0.attn.qkv.Linear.parameters_grad.0.bias")
    shares = sorted(
        (r.extra["share_of_allowed"] for r in report.tensors if "share_of_allowed" in r.extra), reverse=True
    )
    assert row.verdict == "pass"
    assert row.extra["share_of_allowed"] < shares[10]


def test_figures_of_msprobe_are_on_every_row():
    report = api.compare(CASES / "fp32_truncate", CASES / "fp32")
    assert all("msprobe_cosine" in r.extra for r in report.tensors)


@pytest.mark.parametrize(
    ("actual", "rows", "differing"),
    [("fp32_md5", 75, 0), ("fp32_xor", 164, 30)],
    ids=["CRC-32", "xor"],
)
def test_checksums_are_those_of_the_values(actual, rows, differing):
    """In xor mode modules were not hooked: from the first sum of three gradients on, backward has another order."""
    report = api.compare(CASES / actual, CASES / "fp32", standard="auto")
    failing = verdicts(report)["fail"]
    assert (len(report.tensors), len(failing)) == (rows, differing)
    assert all(".backward" in id for id in failing)
    assert not failing or failing[0] == "Tensor.__add__.1.backward.input.0"


def test_a_pair_of_md5_dumps():
    report = api.compare(CASES / "fp32_truncate_md5", CASES / "fp32_md5")
    (first, *_) = json.loads((CASES / "results/fp32_truncate_vs_fp32_md5_first_diff.json").read_text())["rank_0"]
    assert report.first_divergence == f"{first['op_name']}.output.0" == MLP
    assert len(report.tensors) == 75


@pytest.mark.parametrize("id", [ATTENTION, "Functional.linear.1.forward.output.0"], ids=["module", "its last call"])
def test_a_scaled_attention_output_is_found_and_the_scale_named(tmp_path, id):
    scaled = changed(tmp_path, "fp32", id, lambda x: x * np.float32(1.01), "<f4")
    report = api.explain(scaled, CASES / "fp32")
    assert (report.first_divergence, verdicts(report)["fail"]) == (id, [id])
    (found,) = report.findings
    assert (found.cause, found.counterfactual.change["kind"]) == ("wrong_formula", "scale")
    assert found.counterfactual.change["value"] == pytest.approx(1.01, rel=1e-6)


def test_a_dump_is_judged_without_a_golden_one():
    report = api.compare(CASES / "bf16")
    assert (report.verdict, report.expected) == ("pass", "each call's own inputs")
    assert verdicts(report)["not_compared"] == ["Module.layers.0.Block.backward.0.output.0"]


def test_another_standard_compares_pair_by_pair():
    report = api.compare(CASES / "bf16", CASES / "fp32", standard="ulp", max_ulp=4)
    assert (report.verdict, len(report.tensors)) == ("fail", 239)


def test_an_array_is_no_partner_of_a_dump():
    with pytest.raises(PrecDiffError, match="both must be dumps"):
        api.compare(CASES / "bf16", np.zeros(3))
