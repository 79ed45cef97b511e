"""explain of a device's output: what gives its bits is named (a profile, a variant, one departure), or the nearest."""

import numpy as np
import pytest

from precdiff import api
from precdiff.kernels import Run
from precdiff.trace import Change, replay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 200)).astype(np.float16)


@pytest.fixture
def written(folder):
    """written(name, array) -> the name of a .npy file in the working folder."""

    def write(name, array):
        np.save(folder / name, array)
        return name

    write("x.npy", X)
    return write


def device(**changes):
    run = api.run("softmax", inputs={"x": X})
    return Run(replay(run.trace, changes)).outputs["out"]


def explained(document, path, *more):
    return document("explain", path, "--kernel", "softmax", "--input", "x=x.npy", *more)


def test_the_emulated_device_itself(document, written):
    made = explained(document, written("out.npy", api.run("softmax", inputs={"x": X}).outputs["out"]))
    assert made["provenance"]["differs_from_emulation"] == 0


@pytest.mark.parametrize("profile", ["numpy-pairwise", "ieee-exact", "ascend-910b"])
def test_another_profile(document, written, precdiff, profile):
    actual = api.run("softmax", inputs={"x": X}, profile=profile).outputs["out"]
    made = explained(document, written("out.npy", actual))
    named = made["provenance"]["reproduced_by"].removeprefix("profile ")
    assert (api.run("softmax", inputs={"x": X}, profile=named).outputs["out"] == actual).all()
    assert made["findings"] == [] or made["verdict"] == "fail"
    assert "reproduced by" in precdiff("explain", "out.npy", "--kernel", "softmax", "--input", "x=x.npy").stderr


def test_another_variant(document, written):
    x, y = (RNG.uniform(low, 4, 300).astype(np.float16) for low in (0.1, -4))
    actual = api.run("pow", inputs={"x": x, "y": y}, options={"variant": "v2"}).outputs["out"]
    inputs = ["--input", f"x={written('a.npy', x)}", "--input", f"y={written('b.npy', y)}"]
    made = document("explain", written("out.npy", actual), "--kernel", "pow", *inputs)
    assert made["provenance"]["reproduced_by"] == "variant=v2"


@pytest.mark.parametrize(
    ("step", "change", "cause"),
    [
        ("exp", Change("direction", "toward-zero"), "biased_rounding"),
        # beyond 16 a number of bf16 is 1/8 from the next: terms below 1/16 are absorbed, most are
        ("sum", Change("accumulator", "bf16"), "stagnation"),
        ("exp", Change("approximation", "bf16"), "intermediate_too_narrow"),
        ("sum", Change("tie_rule", "nearest-away"), "wrong_rounding_cast"),
        ("sum", Change("scale", 0.5), "wrong_formula"),
        ("sub", Change("reads", {"input": 0, "where": [64, 128], "from": [0, 64]}), "missing_sync"),
    ],
)
def test_one_departure(document, written, step, change, cause):
    made = explained(document, written("out.npy", device(**{step: change})))
    first = made["findings"][0]
    assert (first["cause"], first["standing"]) == (cause, "verified")
    assert first["counterfactual"]["reproduces_bits"] and first["counterfactual"]["error_after"] == 0
    assert first["counterfactual"]["error_before"] > 0 and first["elements"] > 0


def test_what_nothing_gives_has_the_nearest_beside_it(document, written):
    actual = device(sum=Change("accumulator", "fp16@p9"))
    actual = np.nextafter(actual, RNG.choice(np.float16([0, 1]), actual.shape))  # each element an ulp up or down
    made = explained(document, written("out.npy", actual))
    assert "bit patterns differ" in made["provenance"]["nearest_configuration"]
    assert all(not f["counterfactual"] or not f["counterfactual"]["reproduces_bits"] for f in made["findings"])


def test_compare_searches_nothing(document, written):
    made = document(
        "compare",
        written("out.npy", device(exp=Change("direction", "up"))),
        "--kernel",
        "softmax",
        "--input",
        "x=x.npy",
    )
    assert made["findings"] == [] and made["provenance"]["differs_from_emulation"] > 0


def test_the_budget_ends_the_search(document, written):
    made = explained(document, written("out.npy", device(sum=Change("accumulator", "fp16@p9"))), "--budget", "0")
    assert made["code"] in (0, 1)


def test_a_raw_file_is_read_like_a_npy(document, written, folder):
    actual = device(exp=Change("direction", "toward-zero"))
    (folder / "out.bin").write_bytes(actual.tobytes())
    raw, plain = (explained(document, path) for path in ("out.bin:fp16:4,200", written("out.npy", actual)))
    assert raw["findings"] == plain["findings"] and raw["findings"][0]["cause"] == "biased_rounding"


def test_a_device_that_departs_at_every_step(document, written):
    steps = [step.id for step in api.run("softmax", inputs={"x": X}).trace.steps]
    made = explained(document, written("out.npy", device(**dict.fromkeys(steps, Change("direction", "toward-zero")))))
    first = made["findings"][0]
    assert (first["cause"], first["standing"]) == ("biased_rounding", "verified") and len(first["region"]) > 1


def test_another_order_and_accumulator_are_named(document, written):
    profile = api.run("softmax", inputs={"x": X}).trace.profile.with_(sum_order="groups(k0=8)")
    actual = api.run("softmax", inputs={"x": X}, profile=profile).outputs["out"]
    made = explained(document, written("out.npy", actual))
    assert made["provenance"]["reproduced_by"].startswith("sum_order=") and made["provenance"]["differs_from_emulation"]


def test_runs_that_differ_among_each_other(document, written, precdiff):
    """Three runs of an atomic sum, each in an order of its own: the spread comes first."""
    values = {"x": RNG.normal(size=(8, 300)).astype(np.float16)}
    declared = api.run("reduce_sum", inputs=values)
    orders = [{"kind": "pairwise"}, {"kind": "adjacent-tree"}, {"kind": "sequential"}]
    runs = [Run(replay(declared.trace, {"sum": Change("order", order)})).outputs["out"] for order in orders]
    one, other, third = (written(f"run{i}.npy", array) for i, array in enumerate(runs))
    given = ["--kernel", "reduce_sum", "--input", f"x={written('values.npy', values['x'])}"]
    finding = document("explain", one, *given, "--again", other, "--again", third)["findings"][0]
    differing = sum(len({run[i].tobytes() for run in runs}) > 1 for i in range(8))
    assert (finding["cause"], finding["standing"], finding["elements"]) == ("nondeterminism", "candidate", differing)
    assert finding["evidence"]["runs"] == 3 and finding["evidence"]["legal_orders"] == 3
    alike = document("explain", one, *given, "--again", one)
    assert all(found["cause"] != "nondeterminism" for found in alike["findings"])
    assert "--again: allowed with --kernel" in precdiff("explain", one, other, "--again", third).stderr
