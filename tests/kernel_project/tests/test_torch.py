"""torch's softmax in bf16 against the truth."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.torch


@pytest.mark.precdiff(max_ulp=1)
def test_softmax_in_bf16(precdiff):
    x = torch.linspace(-3, 3, 64).reshape(2, 32).to(torch.bfloat16)
    precdiff.assert_close(torch.softmax(x, dim=-1), kernel="softmax", inputs={"x": x})
