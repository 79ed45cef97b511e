"""--map: what its rules make of two dumps. Expected values are numpy's."""

import numpy as np
import pytest

from precdiff.comparison.alignment import align
from precdiff.comparison.mapping import mapped, read_rules
from precdiff.errors import PrecDiffError
from tests.diagnose.recorded.memory import recorded

RNG = np.random.default_rng(0)
QKV = RNG.normal(size=(12, 4)).astype(np.float32)


def dump(**tensors):
    """Tensors of one unknown step, called as given."""
    made = recorded(("f.0.forward", "f", {}, {name.replace("__", "."): v for name, v in tensors.items()}))
    names = {f"f.0.forward.{name.replace('__', '.')}": name.replace("__", ".") for name in tensors}
    made.tensors = {names[id]: row for id, row in made.tensors.items()}
    object.__setattr__(made, "steps", ())
    made.arrays = {names[id]: v for id, v in made.arrays.items()}
    for id, row in made.tensors.items():
        object.__setattr__(row, "id", id)
    return made


def rules(folder, text):
    file = folder / "map.toml"
    file.write_text(text, encoding="utf-8")
    return read_rules(file)


def under(folder, text, actual, expected):
    """(what is paired with what, both sides as mapped, rules that fitted nothing)."""
    actual, expected = (side if isinstance(side, list) else [side] for side in (actual, expected))
    found = mapped(actual, expected, rules(folder, text))
    return align(found.actual, found.expected, found.pairs).pairs, found


def test_rename_with_a_star(tmp_path):
    text = '[[rename]]\nactual = "h.*.attn.*"\nexpected = "layers.*.attention.*"\n'
    one, two = dump(h__0__attn__out=QKV, h__1__attn__out=QKV), dump(layers__0__attention__out=QKV)
    assert under(tmp_path, text, one, two)[0] == {"h.0.attn.out": "layers.0.attention.out"}


def test_concat(tmp_path):
    text = '[[concat]]\nactual = ["*.q", "*.k", "*.v"]\nexpected = "*.qkv"\naxis = 0\n'
    parts = dict(zip(("a__q", "a__k", "a__v"), np.split(QKV, 3), strict=True))
    pairs, found = under(tmp_path, text, dump(**parts), dump(a__qkv=QKV))
    assert pairs == {"a.q + a.k + a.v": "a.qkv"}
    np.testing.assert_array_equal(found.actual.tensor("a.q + a.k + a.v"), QKV)


@pytest.mark.parametrize(("sizes", "cuts"), [("", [4, 8]), ("sizes = [2, 3, 7]", [2, 5])])
def test_split(tmp_path, sizes, cuts):
    text = f'[[split]]\nactual = "*.qkv"\nexpected = ["*.q", "*.k", "*.v"]\naxis = 0\n{sizes}\n'
    parts = np.split(QKV, cuts)
    pairs, found = under(tmp_path, text, dump(a__qkv=QKV), dump(a__q=parts[0], a__k=parts[1], a__v=parts[2]))
    assert pairs == {"a.qkv[0]": "a.q", "a.qkv[1]": "a.k", "a.qkv[2]": "a.v"}
    for place, part in enumerate(parts):
        np.testing.assert_array_equal(found.actual.tensor(f"a.qkv[{place}]"), part)


X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("how", "meant"),
    [
        ("transpose = [0, 2, 3, 1]", X.transpose(0, 2, 3, 1)),
        ("reshape = [6, -1]", X.reshape(6, -1)),
        ("take = [2, 0]\naxis = 1", X[:, [2, 0]]),
        ("valid = [0, 0, 3, 2]", X[:, :, :3, :2]),
        ('layout = "NHWC"', np.moveaxis(X, 3, 1)),
    ],
)  # fmt: skip
def test_view(tmp_path, how, meant):
    text = f'[[view]]\nside = "actual"\ntensor = "*"\n{how}\n'
    found = under(tmp_path, text, dump(x=X), dump(x=meant.copy()))[1]
    np.testing.assert_array_equal(found.actual.tensor("x"), meant)
    assert found.actual.tensors["x"].shape == meant.shape


def test_nz_tiles_are_put_back(tmp_path):
    """M x N in tiles of 16 x 16: padded, cut into (M1, M0, N1, N0), stored as N1, M1, M0, N0."""
    x = RNG.normal(size=(40, 20)).astype(np.float16)
    padded = np.zeros((48, 32), np.float16)
    padded[:40, :20] = x
    tiles = padded.reshape(3, 16, 2, 16).transpose(2, 0, 1, 3).copy()
    text = '[[view]]\nside = "actual"\ntensor = "x"\nlayout = "NZ"\nvalid = [40, 20]\n'
    found = under(tmp_path, text, dump(x=tiles), dump(x=x))[1]
    np.testing.assert_array_equal(found.actual.codes("x"), x.view(np.uint16))


def test_shards_of_ranks_are_joined_after_their_views(tmp_path):
    shards = [dump(w=part.T.copy()) for part in np.split(QKV, 3)]
    text = ('[[shards]]\nside = "actual"\ntensor = "w"\naxis = 1\n'
            '[[view]]\nside = "actual"\ntensor = "w"\ntranspose = [1, 0]\n')  # fmt: skip
    found = under(tmp_path, text, shards, dump(w=QKV))[1]
    np.testing.assert_array_equal(found.actual.tensor("w"), QKV)


def test_a_rule_that_fits_nothing_is_said(tmp_path):
    text = '[[rename]]\nactual = "gone"\nexpected = "x"\n'
    assert under(tmp_path, text, dump(x=X), dump(x=X))[1].idle == ["rename gone"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[renam]]\n", r"unknown rule in .*'renam'. Did you mean 'rename'\?"),
        ("[rename]\nactual = 'a'\n", r"found \[rename\]; allowed is \[\[rename\]\]"),
        ("[[rename]]\nactual = 'a'\n", "needs expected; found actual"),
        ("[[rename]]\nactual = 'a'\nexpectd = 'b'\n", "Did you mean 'expected'"),
        ("[[view]]\nside = 'left'\ntensor = 'a'\n", "unknown side .*'left'"),
        ("[[view]]\nside = 'actual'\ntensor = 'a'\nlayout = 'NHCW'\n", "unknown layout .*Did you mean 'NHWC'"),
        ("rename = \n", r"--map .*map.toml: .*docs/dumps.md"),
    ],
)  # fmt: skip
def test_a_bad_file(tmp_path, text, said):
    with pytest.raises(PrecDiffError, match=said):
        rules(tmp_path, text)


@pytest.mark.parametrize("how", ["transpose = [0]", "reshape = [7]", "take = [9]", "layout = 'NZ'"])
def test_a_view_that_does_not_fit(tmp_path, how):
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(PrecDiffError, match=r"a tensor of shape \[2, 3\] cannot be seen as"):
        under(tmp_path, f'[[view]]\nside = "actual"\ntensor = "x"\n{how}\n', dump(x=x), dump(x=x))
