"""What recorded calls must have given, and when nothing can be said. Expected values are numpy's in fp64."""

import numpy as np
import pytest

from precdiff.diagnose.recorded.contents import Contents
from precdiff.diagnose.recorded.judging import Recording, judged_dump
from precdiff.diagnose.recorded.truths import NotJudgedError, expectations
from tests.diagnose.recorded.memory import recorded

RNG = np.random.default_rng(1)
X, W, G = (RNG.normal(size=s).astype(np.float32) for s in ((5, 8), (3, 8), (5, 3)))
Y = (X.astype(np.float64) @ W.astype(np.float64).T).astype(np.float32)
LINEAR = ("Functional.linear.0.forward", "Functional.linear", {"input.0": X, "input.1": W}, {"output.0": Y})


def verdicts(*calls):
    return {j.row.id: j.row.verdict for j in judged_dump(Recording(recorded(*calls)))}


def why(*calls):
    return {j.row.id: j.why for j in judged_dump(Recording(recorded(*calls)))}


def truth(*calls):
    dump = recorded(*calls)
    steps = {s.id: s for s in dump.steps}
    return expectations(dump.steps[-1], Contents(dump), steps)


def test_a_call_is_judged_by_its_own_inputs():
    found = truth(LINEAR)["Functional.linear.0.forward.output.0"].truths[0]
    np.testing.assert_allclose(found.exact.hi, X.astype(np.float64) @ W.astype(np.float64).T, rtol=1e-12)
    assert verdicts(LINEAR) == {"Functional.linear.0.forward.output.0": "pass"}


def test_a_wrong_element_fails():
    wrong = Y.copy()
    wrong[2, 1] += 16 * np.spacing(np.abs(wrong[2, 1])) * 100
    call = (*LINEAR[:3], {"output.0": wrong})
    assert verdicts(call) == {"Functional.linear.0.forward.output.0": "fail"}


def test_backward_gives_the_gradients_of_the_inputs():
    dx, dw = G.astype(np.float64) @ W.astype(np.float64), G.astype(np.float64).T @ X.astype(np.float64)
    back = ("Functional.linear.0.backward", "Functional.linear", {"input.0": G},
            {"output.0": dx.astype(np.float32), "output.1": dw.T.astype(np.float32)})  # fmt: skip
    assert verdicts(LINEAR, back) == dict.fromkeys(
        ("Functional.linear.0.forward.output.0", "Functional.linear.0.backward.output.0",
         "Functional.linear.0.backward.output.1"), "pass",
    )  # fmt: skip
    wrong = (*back[:3], {"output.0": (dx * 1.01).astype(np.float32)})
    assert verdicts(LINEAR, wrong)["Functional.linear.0.backward.output.0"] == "fail"


def test_a_view_at_the_end_hands_the_gradient_on():
    back = ("Functional.linear.0.backward", "Functional.linear", {"input.0": G}, {"output.0": G.reshape(15)})
    assert verdicts(LINEAR, back)["Functional.linear.0.backward.output.0"] == "pass"


def test_the_last_node_of_cross_entropy_is_that_of_nll_loss():
    logits, classes = RNG.normal(size=(4, 6)).astype(np.float32), np.array([0, 5, 2, 2])
    shifted = logits.astype(np.float64) - logits.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    loss = np.float32(-logs[np.arange(4), classes].mean())
    onto_logs = np.zeros((4, 6), np.float32)
    onto_logs[np.arange(4), classes] = -0.25
    onto_logits = ((np.exp(logs) - np.eye(6)[classes]) / 4).astype(np.float32)
    call = ("Functional.cross_entropy.0.forward", "Functional.cross_entropy", {"input.0": logits, "input.1": classes},
            {"output.0": np.asarray(loss)})  # fmt: skip
    for grad, verdict in ((onto_logs, "pass"), (onto_logits, "pass"), (onto_logits * 2, "not_compared")):
        back = ("Functional.cross_entropy.0.backward", "Functional.cross_entropy",
                {"input.0": np.asarray(np.float32(1))}, {"output.0": grad})  # fmt: skip
        assert verdicts(call, back)["Functional.cross_entropy.0.backward.output.0"] == verdict


def test_parameters_get_their_gradient_from_the_one_call():
    forward = ("Module.head.Linear.forward.0", "Module.Linear", {"input.0": X, "parameters.weight": W}, {"output.0": Y})
    back = ("Module.head.Linear.backward.0", "Module.Linear", {"input.0": G}, {})
    dw = (G.astype(np.float64).T @ X.astype(np.float64)).astype(np.float32)
    grads = ("Module.head.Linear.parameters_grad.0", "Module.Linear", {}, {"weight": dw})
    assert verdicts(forward, back, grads)["Module.head.Linear.parameters_grad.0.weight"] == "pass"
    again = ("Module.head.Linear.forward.1", *forward[1:])
    said = why(forward, again, back, grads)["Module.head.Linear.parameters_grad.0.weight"]
    assert "called 2 times: its gradient is a sum over the calls" in said


@pytest.mark.parametrize("op", ["Tensor.add_", "Tensor.__iadd__"])
def test_an_input_recorded_after_the_call_wrote_over_it_is_not_judged(op):
    id = f"{op}.0.forward"
    late = (id, op, {"input.0": X + X, "input.1": X}, {"output.0": X + X})
    assert verdicts(late) == {f"{id}.output.0": "not_compared"}
    assert "wrote over its input" in why(late)[f"{id}.output.0"]
    early = (id, op, {"input.0": X, "input.1": X}, {"output.0": X + X})
    assert verdicts(early) == {f"{id}.output.0": "pass"}
    wrong = (id, op, {"input.0": X, "input.1": X}, {"output.0": X})
    assert verdicts(wrong)[f"{id}.output.0"] == "not_compared"  # recorded late, or wrong: nobody knows


@pytest.mark.parametrize(
    ("op", "given", "reason"),
    [
        ("Functional.unheard_of", {"input.0": X}, "Functional.unheard_of is not known"),
        ("Module.Block", {"input.0": X}, "Module.Block is not known: what it computes is not in the record"),
        ("Functional.dropout", {"input.0": X, "input.1": 0.5}, "dropout draws random numbers"),
        ("Functional.softmax", {"input.0": X, "kwargs.dim": -1, "kwargs.colour": 3}, "not known with these arguments"),
        ("Functional.softmax", {"input.0": X, "kwargs.dim": "left"}, "not known with these attributes"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_never_guessed(op, given, reason):
    with pytest.raises(NotJudgedError, match=reason):
        truth((f"{op}.0.forward", op, given, {"output.0": X}))


def test_a_module_with_hidden_attributes_is_right_where_the_defaults_fit():
    x = np.linspace(-2, 2, 9, dtype=np.float32)
    slope = np.where(x > 0, x, x * np.float32(0.01)).astype(np.float32)
    call = ("Module.act.LeakyReLU.forward.0", "Module.LeakyReLU", {"input.0": x}, {"output.0": slope})
    assert verdicts(call) == {"Module.act.LeakyReLU.forward.0.output.0": "pass"}
    other = (*call[:3], {"output.0": np.where(x > 0, x, x * np.float32(0.2)).astype(np.float32)})
    assert verdicts(other) == {"Module.act.LeakyReLU.forward.0.output.0": "not_compared"}


def test_what_is_not_finite_is_made_by_the_call_whose_inputs_are():
    x = np.float16([300.0, 2.0])
    with np.errstate(over="ignore"):
        square = ("Torch.square.0.forward", "Torch.square", {"input.0": x}, {"output.0": x * x})
        twice = ("Torch.square.1.forward", "Torch.square", {"input.0": x * x}, {"output.0": (x * x) * (x * x)})
    assert verdicts(square, twice) == {
        "Torch.square.0.forward.output.0": "fail", "Torch.square.1.forward.output.0": "pass",
    }  # fmt: skip


def test_a_mask_of_minus_infinity_is_meant():
    mask = X > 0
    call = ("Tensor.masked_fill.0.forward", "Tensor.masked_fill",
            {"input.0": X, "input.1": mask, "input.2": float("-inf")},
            {"output.0": np.where(mask, -np.inf, X).astype(np.float32)})  # fmt: skip
    assert verdicts(call) == {"Tensor.masked_fill.0.forward.output.0": "pass"}
