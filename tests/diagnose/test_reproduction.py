"""explain_device: each departure that devices have gives its own cause, from every step's tensor and from outputs."""

import numpy as np
import pytest

from precdiff import api
from precdiff.device.orders import Pairwise
from precdiff.diagnose.configurations import configurations
from precdiff.diagnose.naming import distance
from precdiff.diagnose.reproduction import explain_device
from precdiff.errors import PrecDiffError
from precdiff.formats import to_bits
from precdiff.kernels import KERNELS
from precdiff.trace import Change, replay

RNG = np.random.default_rng(20)
X = RNG.normal(0, 1, (24, 50)).astype(np.float16)
POISON = {"input": 0, "where": [1168, 1200], "version": "poison"}
STALE = {"input": 0, "where": [128, 256], "from": [0, 128]}

DEPARTURES = [
    ("sum", Change("accumulator", "bf16"), "intermediate_too_narrow"),
    ("sum", Change("operands", "bf16"), "intermediate_too_narrow"),
    ("exp", Change("format", "bf16"), "intermediate_too_narrow"),
    ("exp", Change("approximation", "bf16"), "intermediate_too_narrow"),
    ("sub", Change("direction", "up"), "biased_rounding"),
    ("exp", Change("direction", "toward-zero"), "biased_rounding"),
    ("div", Change("direction", "down"), "biased_rounding"),
    ("sum", Change("tie_rule", "nearest-away"), "wrong_rounding_cast"),
    ("exp", Change("cast", {"through": ["hf32"]}), "wrong_rounding_cast"),
    ("sum", Change("scale", 2.0), "wrong_formula"),
    ("div", Change("scale", 10.0), "wrong_formula"),
    ("sum", Change("drop_term", 49), "wrong_formula"),
    ("sub", Change("reads", STALE), "missing_sync"),
    ("exp", Change("reads", POISON), "uninitialised_memory"),
    ("exp", Change("subnormals", "flush"), "underflow_ftz"),
]


@pytest.fixture(scope="module")
def declared():
    """A softmax with a few results below the normal numbers."""
    x = X.copy()
    x[:, 3] = x.max(axis=1) - np.float16(12)
    return api.run("softmax", inputs={"x": x}).trace


def outputs(trace):
    return {id: trace.values[id] for id in trace.outputs.values()}


def gives(declared, finding, device):
    """Whether the finding's own change, replayed here, gives the device's output."""
    row = finding.counterfactual.change
    made = replay(declared, {step: Change.from_json(row) for step in row["steps"]})
    return all((to_bits(made.values[id], "fp16") == to_bits(v, "fp16")).all() for id, v in outputs(device).items())


@pytest.mark.parametrize(("step", "change", "cause"), DEPARTURES, ids=[f"{s}-{c}" for s, c, _ in DEPARTURES])
@pytest.mark.parametrize("full", [True, False], ids=["full", "outputs"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_departure_is_named_by_what_gives_its_bits(declared, step, change, cause, full):
    device = replay(declared, {step: change})
    known = {s.id: device.values[s.id] for s in declared.steps} if full else outputs(device)
    (found,) = explain_device(declared, known)
    assert (found.cause, found.standing) == (cause, "verified")
    assert found.counterfactual.reproduces_bits and gives(declared, found, device)
    assert found.evidence["replays"] >= 1
    if full:
        assert found.step == step


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (Change("direction", "toward-zero"), "biased_rounding"),
        (Change("tie_rule", "nearest-away"), "wrong_rounding_cast"),
        (Change("format", "bf16"), "intermediate_too_narrow"),
        (Change("operands", "bf16"), "intermediate_too_narrow"),
    ],
)
def test_a_device_that_departs_at_every_step(declared, change, cause):
    steps = [step.id for step in declared.steps]
    device = replay(declared, dict.fromkeys(steps, change))
    (found,) = explain_device(declared, outputs(device))
    assert (found.cause, found.standing, found.counterfactual.change["kind"]) == (cause, "verified", change.kind)
    moved = [s for s in steps if not np.array_equal(device.values[s], declared.values[s])]
    assert found.region == moved and found.step == moved[0]
    assert gives(declared, found, device)


def test_the_first_of_two_departures_is_where_it_begins(declared):
    device = replay(declared, {"exp": Change("direction", "up"), "div": Change("scale", 2.0)})
    (found,) = explain_device(declared, {s.id: device.values[s.id] for s in declared.steps})
    assert (found.step, found.cause) == ("exp", "biased_rounding")


@pytest.mark.parametrize("full", [True, False], ids=["full", "outputs"])
def test_another_order_is_no_fault(full):
    declared = api.run("reduce_sum", inputs={"x": X}).trace
    (step,) = declared.outputs.values()
    device = replay(declared, {step: Change("order", Pairwise())})
    known = {s.id: device.values[s.id] for s in declared.steps} if full else outputs(device)
    found = explain_device(declared, known)
    assert all(f.cause == "reduction_order" and f.standing == "candidate" for f in found) and found


@pytest.mark.parametrize("full", [True, False], ids=["full", "outputs"])
def test_a_running_sum_that_stands_still(full):
    """2,200 ones in fp16 stop at 2,048, where the next number is 2,050 and a tie goes to even."""
    ones = np.ones((12, 2200), np.float16)
    ones[:, 0] = np.arange(12)
    declared = api.run("reduce_sum", inputs={"x": ones}, options={"acc": "fp32"}).trace
    device = replay(declared, {"sum": Change("accumulator", "fp16")})
    assert (device.values["sum"] == 2048).all()
    known = {s.id: device.values[s.id] for s in declared.steps} if full else outputs(device)
    (found,) = explain_device(declared, known)
    assert (found.cause, found.standing) == ("stagnation", "verified") and found.evidence["replays"] <= 4


def test_the_same_bits_have_no_finding(declared):
    assert explain_device(declared, outputs(declared)) == []
    assert explain_device(declared, {s.id: declared.values[s.id] for s in declared.steps}) == []


@pytest.mark.parametrize(
    ("step", "change", "cause"),
    [
        ("exp", Change("format", "fp16@p5"), "intermediate_too_narrow"),
        ("sum", Change("scale", 1.37), "wrong_formula"),
        ("sub", Change("reads", {"input": 0, "where": [111, 148], "from": [20, 57]}), "missing_sync"),
    ],
)
def test_parameters_nobody_lists_are_named_by_evidence(declared, step, change, cause):
    device = replay(declared, {step: change})
    (found,) = explain_device(declared, {s.id: device.values[s.id] for s in declared.steps})
    assert (found.step, found.cause) == (step, cause)
    assert found.evidence["recognised"] and (found.standing == "verified") == found.counterfactual.reproduces_bits


def test_an_unknown_tensor_is_refused(declared):
    with pytest.raises(PrecDiffError, match="no tensor 'nothing'"):
        explain_device(declared, {"nothing": X})


def test_no_budget_no_replay(declared):
    device = replay(declared, {"exp": Change("direction", "up")})
    found = explain_device(declared, outputs(device), budget=0.0)
    assert all(f.evidence["replays"] <= 1 and f.standing != "verified" for f in found)


def test_distance_counts_bits_and_energy():
    declared, actual = np.float32([1, 1, 1, np.nan]), np.float32([1, 1.25, 1.5, np.nan])
    assert distance(actual, actual, declared, "fp32") == (0, 0.0)
    assert distance(declared, actual, declared, "fp32") == (2, 1.0)
    # half of the larger deviation is left: 0.25^2 of 0.25^2 + 0.5^2
    half = np.float32([1, 1.25, 1.25, np.nan])
    assert distance(half, actual, declared, "fp32") == (1, pytest.approx(0.2))


@pytest.mark.parametrize(
    "fields", [{"sum_order": "pairwise", "sum_accumulator": "fp32"}, {"sum_order": "groups(k0=16)"}]
)
def test_orders_and_accumulators_of_all_sums_are_configurations(fields):
    declared = api.run("reduce_sum", inputs={"x": X}).trace
    changed = declared.profile.with_(**fields)
    device = api.run("reduce_sum", inputs={"x": X}, profile=changed).trace
    best = configurations(KERNELS["reduce_sum"], declared, outputs(device))[0]
    assert best.differing == 0
    # another configuration may give the same bits: what is named has to
    (mine,), (its,) = outputs(device).values(), outputs(best.trace).values()
    assert np.array_equal(mine, its)


def test_a_profile_and_an_option_together():
    x, y = (RNG.uniform(low, 4, 400).astype(np.float16) for low in (0.1, -4))
    declared = api.run("pow", inputs={"x": x, "y": y}).trace
    device = api.run("pow", inputs={"x": x, "y": y}, profile="ascend-910b", options={"variant": "v2"}).trace
    best = configurations(KERNELS["pow"], declared, outputs(device))[0]
    assert best.differing == 0 and "variant=v2" in best.label


def test_the_python_api_names_what_gives_the_bits(declared):
    run = api.run("softmax", inputs={"x": X})
    actual = replay(run.trace, {"sum": Change("accumulator", "bf16")})
    (id,) = actual.outputs.values()
    report = api.explain(actual.values[id].astype(np.float16), declared=run)
    first = report.findings[0]
    assert (first.cause, first.step) == ("intermediate_too_narrow", "sum") and first.counterfactual.reproduces_bits
    assert report.provenance["differs_from_emulation"] > 0
    assert api.compare(actual.values[id].astype(np.float16), declared=run).findings == ()
    with pytest.raises(PrecDiffError, match="both given"):
        api.compare(X, X, declared=run)
    with pytest.raises(PrecDiffError, match="the kernel gives"):
        api.explain(X[:2], declared=run)
