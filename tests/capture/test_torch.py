"""A torch model on the CPU, recorded forward and backward and judged without a golden run."""

import numpy as np
import pytest

from precdiff import api, capture
from precdiff.dump import open_dump
from precdiff.errors import PrecDiffError

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:Full backward hook is firing")]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'precdiff[torch]'")


def model(torch, dtype):
    """An embedding, one block of attention and MLP, a head; and a loss of it."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, d=32):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + self.out(torch.softmax(q @ k.transpose(-1, -2) / 5.6, -1) @ v)
            return x + self.down(torch.nn.functional.gelu(self.up(x)))

    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(20, 32), Block(), nn.Linear(32, 20)).to(dtype)
    tokens = torch.randint(0, 20, (2, 9))

    def step():
        net.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(tokens).view(-1, 20), tokens.view(-1))
        loss.backward()
        return loss

    return net, step


def faulty(torch, op, change):
    """A device whose `op` gives something else."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Faulty(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return change(made) if str(func) == op else made

    return Faulty()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_model_is_judged_op_by_op(torch, tmp_path, dtype):
    net, step = model(torch, getattr(torch, dtype))
    with capture.torch(net, tmp_path / "run.h5"):
        step()
    report = api.compare(tmp_path / "run.h5")
    assert [t.id for t in report.tensors if t.verdict == "fail"] == []
    assert [t.id for t in report.tensors if t.verdict == "not_compared"] == []
    assert len(report.tensors) > 130
    assert {t.op for t in report.tensors} >= {"aten.addmm.default", "aten.gelu_backward.default"}


@pytest.mark.parametrize("op", ["aten.gelu.default", "aten._softmax.default", "aten._softmax_backward_data.default"])
def test_an_op_with_a_planted_fault_is_found(torch, tmp_path, op):
    def off(made):
        moved = made.clone()
        moved.view(-1)[7] += 16 * 2.0**-8 * max(float(moved.view(-1)[7].abs()), 0.1)
        return moved

    net, step = model(torch, torch.bfloat16)
    with faulty(torch, op, off), capture.torch(net, tmp_path / "run.h5"):
        step()
    report = api.compare(tmp_path / "run.h5")
    assert [t.op for t in report.tensors if t.verdict == "fail"] == [op]
    assert report.first_divergence == f"{op}.0.forward.output.0"


def test_a_wrong_factor_is_named(torch, tmp_path):
    net, step = model(torch, torch.float32)
    with faulty(torch, "aten.gelu.default", lambda made: made * 1.01), capture.torch(net, tmp_path / "run.h5"):
        step()
    (found,) = api.explain(tmp_path / "run.h5").findings
    assert (found.cause, found.counterfactual.change["value"]) == ("wrong_formula", pytest.approx(1.01, rel=1e-6))


def test_modules_are_recorded_with_their_gradients(torch, tmp_path):
    net, step = model(torch, torch.bfloat16)
    with capture.torch(net, tmp_path / "run.h5", level="modules"):
        step()
    report = api.compare(tmp_path / "run.h5")
    verdicts = {t.id: t.verdict for t in report.tensors}
    assert "fail" not in verdicts.values()
    for id in ("Module.1.qkv.Linear.forward.0.output.0", "Module.1.up.Linear.backward.0.output.0",
               "Module.2.Linear.parameters_grad.weight", "Module.0.Embedding.parameters_grad.weight"):  # fmt: skip
        assert verdicts[id] == "pass", id


def test_without_backward(torch, tmp_path):
    net, step = model(torch, torch.float32)
    with capture.torch(net, tmp_path / "run.h5", level="modules", backward=False):
        step()
    with open_dump(tmp_path / "run.h5") as dump:
        assert {s.phase for s in dump.steps} == {"forward"}


def test_an_op_in_place_is_judged_by_what_was_there_before(torch, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            y = x * 2.0
            y.add_(x)
            return y.relu_()

    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    with capture.torch(Net(), tmp_path / "run.h5") as rec:
        made = Net()(x)
        rec.record("result", made)
    report = api.compare(tmp_path / "run.h5")
    assert {(t.op, t.verdict) for t in report.tensors if "detach" not in t.op} == {
        ("aten.mul.Tensor", "pass"), ("aten.add_.Tensor", "pass"), ("aten.relu_.default", "pass"),
    }  # fmt: skip
    with open_dump(tmp_path / "run.h5") as dump:
        np.testing.assert_array_equal(dump.native("result"), made.numpy())


def test_recording_changes_nothing(torch, tmp_path):
    net, step = model(torch, torch.bfloat16)
    plain = step()
    grads = [p.grad.clone() for p in net.parameters()]
    with capture.torch(net, tmp_path / "run.h5"):
        recorded = step()
    assert torch.equal(plain, recorded)
    assert all(torch.equal(a, p.grad) for a, p in zip(grads, net.parameters(), strict=True))


def test_what_is_no_model(torch, tmp_path):
    with pytest.raises(PrecDiffError, match=r"found list; allowed is a torch.nn.Module"):
        capture.torch([], tmp_path / "run.h5").__enter__()
    with pytest.raises(PrecDiffError, match="allowed are 'modules' and 'ops'"):
        capture.torch(torch.nn.Linear(1, 1), tmp_path / "run.h5", level="kernels").__enter__()
