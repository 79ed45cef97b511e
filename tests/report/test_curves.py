"""Loss and gradient norm over steps: folders of dumps of two runs, through `compare`."""

import json

import numpy as np
import pytest

from precdiff import api
from precdiff.capture import Recorder
from precdiff.errors import NotComparableError
from precdiff.report import Report, render

LOSS = [4.0, 3.5, 3.1, 2.9]


def run(folder, losses, norms=(1.0,) * 4, rank=0):
    for step, (loss, norm) in enumerate(zip(losses, norms, strict=True)):
        place = folder / f"step{step}"
        place.mkdir(parents=True, exist_ok=True)
        with Recorder(place / f"rank{rank}.h5", iteration=step, rank=rank) as rec:
            rec.record("train/loss", np.float64(loss))
            rec.record("train/grad_norm", np.float64(norm))
    return folder


def judged(tmp_path, losses, norms=(1.0,) * 4):
    report = api.compare(run(tmp_path / "npu", losses, norms), run(tmp_path / "gpu", LOSS))
    return report, {curve["kind"]: curve for curve in report.provenance["curves"]}


def test_equal_runs(tmp_path):
    report, found = judged(tmp_path, LOSS)
    assert (report.verdict, found["loss"]["verdict"], found["loss"]["steps"]) == ("pass", "pass", 4)


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ((0.004, 0.0, 0.0, 0.0), "pass"), ((0.006, 0.0, 0.0, 0.0), "fail"),  # the first step: below 0.5 %
        ((0.0, 0.012, -0.013, 0.012), "pass"), ((0.0, 0.014, -0.014, 0.013), "fail"),  # the mean: at most 1 %
        ((0.0, np.inf, 0.0, 0.0), "fail"), ((0.0, np.nan, 0.0, 0.0), "fail"),
    ],
)  # fmt: skip
def test_loss(tmp_path, errors, verdict):
    report, curves = judged(tmp_path, [loss * (1 + e) for loss, e in zip(LOSS, errors, strict=True)])
    found = curves["loss"]
    assert (found["verdict"], report.verdict, {row.verdict for row in report.tensors if "loss" in row.id}) == (
        verdict, verdict, {verdict},
    )  # fmt: skip
    if np.isfinite(errors).all():
        assert found["mean"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-9)


@pytest.mark.parametrize(("norm", "verdict"), [(1.09, "pass"), (1.11, "fail")])
def test_gradient_norm(tmp_path, norm, verdict):
    assert judged(tmp_path, LOSS, (norm,) * 4)[1]["gradient norm"]["verdict"] == verdict


def test_a_curve_of_each_rank(tmp_path):
    for rank in range(2):
        run(tmp_path / "npu", [4.0 + rank, *LOSS[1:]], rank=rank)
        run(tmp_path / "gpu", LOSS, rank=rank)
    report = api.compare(tmp_path / "npu", tmp_path / "gpu")
    verdicts = {(c["kind"], c["rank"]): c["verdict"] for c in report.provenance["curves"]}
    assert verdicts == {
        ("loss", 0): "pass", ("loss", 1): "fail", ("gradient norm", 0): "pass", ("gradient norm", 1): "pass",
    }  # fmt: skip
    assert report.provenance["diverges_at"] == {"iteration": 0, "rank": 1}
    assert report.first_divergence == "train/loss"


def test_two_dumps_of_one_step_are_refused(tmp_path):
    for name in ("a", "b"):
        with Recorder(tmp_path / f"{name}.h5") as rec:
            rec.record("x", np.float32(1))
    with pytest.raises(NotComparableError, match=r"2 dumps of one step and rank.*a\.h5.*b\.h5.*iteration="):
        api.compare(tmp_path, tmp_path)


def test_a_folder_of_dumps_beside_texts_is_a_set(tmp_path):
    places = [run(tmp_path / name, LOSS) for name in ("npu", "gpu")]
    (places[0] / "log.txt").write_text("started")
    (places[0] / ".hidden").write_bytes(b"x")
    assert api.compare(*places).verdict == "pass"


def test_infinite_errors_are_written_and_read(tmp_path):
    report, _ = judged(tmp_path, [np.inf, *LOSS[1:]])
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert Report.from_json(document).to_json() == report.to_json()
    said = "train/loss, rank 0 over 4 steps: first step inf% (< 0.5%), mean inf% (<= 1%): fail"
    assert said in render(report, width=200)
