"""Replay: nothing changes without a change; a changed replay is the changed kernel run anew.

Every kind of change is held to an independent run: of another kernel, of another profile, or of numpy.
"""

import dataclasses

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.device.orders import AdjacentTree, Pairwise, Sequential
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import get_format, to_bits
from precdiff.kernels import KERNELS, kernel, run_kernel
from precdiff.trace import Change, Region, cone, layer_of, replay, same_bits
from tests.machine.truth import same

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 10, 500).astype(np.float16)
Y = RNG.uniform(-4, 4, 500).astype(np.float16)
ROWS = RNG.uniform(0.1, 1, (4, 200)).astype(np.float16)
IEEE = get_profile("ieee")


def trace_of(function, profile="ieee", format=None, options=None, **inputs):
    runnable = function if isinstance(function, str) else kernel(function)
    return run_kernel(runnable, inputs, profile=profile, format=format, options=options).trace


def pow_trace(**options):
    return trace_of("pow", x=X, y=Y, options={"variant": "v1", **options})


def out(trace, name="out"):
    return trace.values[trace.outputs[name]]


def equal(one, other, fmt="fp16"):
    return bool((to_bits(np.asarray(one), get_format(fmt)) == to_bits(np.asarray(other), get_format(fmt))).all())


EXAMPLES = {
    "pow": {"x": X, "y": Y}, "softmax": {"x": ROWS}, "layernorm": {"x": ROWS, "gamma": ROWS[0], "beta": ROWS[1]},
    "matmul": {"a": ROWS, "b": ROWS.T.copy()}, "reduce_sum": {"x": ROWS}, "logsumexp": {"x": ROWS},
}  # fmt: skip


class TestNothingChanged:
    @pytest.mark.parametrize("name", EXAMPLES)
    def test_without_a_change(self, name):
        trace = trace_of(name, **EXAMPLES[name])
        again = replay(trace, {})
        assert all(same_bits(trace, again, id) for id in trace.values)

    @pytest.mark.parametrize("name", EXAMPLES)
    @pytest.mark.parametrize("profile", ["ieee", "ascend-910b", "numpy-pairwise"])
    def test_run_again_on_its_own_profile(self, name, profile):
        trace = trace_of(name, profile, **EXAMPLES[name])
        again = replay(trace, {}, get_profile(profile))
        assert all(same_bits(trace, again, id) for id in trace.values)

    @pytest.mark.parametrize("name", ["pow", "softmax", "layernorm"])
    def test_exact_is_the_identity_on_every_correctly_rounded_step(self, name):
        """Ties, zeros of both signs, infinities, NaN and subnormals among the operands."""
        odd = np.float16([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504.0, 0.5, 2.0, 3.0, -2.5])
        given = {n: np.resize(odd, v.shape[-1] * 4).reshape(4, -1)[: len(v)] if v.ndim > 1 else np.resize(odd, v.shape)
                 for n, v in EXAMPLES[name].items()}  # fmt: skip
        if name == "pow":
            given = {"x": np.repeat(odd, odd.size), "y": np.tile(odd, odd.size)}
        trace = trace_of(name, **given)
        for step in trace.steps:
            if step.op in ("sum", "matmul"):
                continue
            again = replay(trace, {step.id: Change("exact")})
            assert same(trace.values[step.id], again.values[step.id]).all(), step.id

    @pytest.mark.parametrize("kind", ["direction", "tie_rule", "overflow", "subnormals", "approximation", "format"])
    def test_a_change_to_what_already_holds(self, kind):
        value = {"direction": "nearest-even", "tie_rule": "nearest-even", "overflow": "ieee", "subnormals": "keep",
                 "approximation": None, "format": "fp16"}[kind]  # fmt: skip
        trace = pow_trace()
        region = Region(tuple(s.id for s in trace.steps))
        assert same_bits(trace, replay(trace, {region: Change(kind, value)}), trace.outputs["out"])

    def test_the_trace_itself_is_left_alone(self):
        trace = pow_trace()
        before = {id: v.copy() for id, v in trace.values.items()}
        replay(trace, {"log": Change("format", "fp32", "wide")})
        assert all(equal(trace.values[id], before[id], trace.formats[id]) for id in before)

    def test_inputs_are_copies(self):
        x = np.float32([1.0, 2.0])
        trace = trace_of(lambda x: x + 1.0, x=x)
        x[0] = 99.0
        assert trace.values["x"].tolist() == [1.0, 2.0]


def core_v1(x, y):
    ln = ops.log(x)
    product = y * ln
    return ops.exp(product)


def core_wide(x, y):
    """v1 with log and the product in fp32, exp of that rounded to fp16."""
    ln = ops.log(ops.cast(x, "fp32"))
    product = ops.cast(y, "fp32") * ln
    return ops.cast(ops.exp(product), "fp16")


class TestEveryKind:
    """The replay of a changed step equals the run of a kernel, or on a profile, that has the change built in."""

    def test_format_wide(self):
        """fp32 inside, read by exp unrounded; exp rounds once to fp16, as double rounding would not."""
        trace = trace_of(core_v1, x=X, y=Y)
        found = out(replay(trace, {Region(("log", "mul")): Change("format", "fp32", "wide")}))
        wide = out(trace_of(lambda x, y: ops.cast(y, "fp32") * ops.log(ops.cast(x, "fp32")), x=X, y=Y))
        exact = np.exp(wide.astype(np.longdouble))
        assert equal(found, exact.astype(np.float64).astype(np.float16))

    def test_format_declared_rounds_on_leaving(self):
        trace = trace_of(core_v1, x=X, y=Y)
        found = replay(trace, {Region(("log", "mul")): Change("format", "fp32")})
        wide = out(trace_of(lambda x, y: ops.cast(y, "fp32") * ops.log(ops.cast(x, "fp32")), x=X, y=Y))
        assert equal(found.values["mul"], wide.astype(np.float16))

    def test_format_of_the_whole_cone_is_the_wide_kernel(self):
        trace = trace_of(core_v1, x=X, y=Y)
        found = out(replay(trace, {cone(trace, "exp"): Change("format", "fp32")}))
        assert equal(found, out(trace_of(core_wide, x=X, y=Y)))

    def test_exact_cone_is_the_exact_function_rounded_once(self):
        trace = trace_of(core_v1, x=X, y=Y)
        found = out(replay(trace, {cone(trace, "exp"): Change("exact")}))
        assert equal(found, out(trace_of(lambda x, y: x**y, x=X, y=Y)))

    def test_fuse_is_a_fused_multiply_add(self):
        trace = trace_of(lambda x, y: x * y + y, x=X, y=Y)
        found = out(replay(trace, {Region(("mul", "add")): Change("fuse")}))
        assert equal(found, out(trace_of(lambda x, y: ops.fma(x, y, y), x=X, y=Y)))

    @pytest.mark.parametrize("value", ["fp32", "fp64"])
    def test_accumulator(self, value):
        trace = trace_of("reduce_sum", x=ROWS)
        assert equal(out(replay(trace, {"sum": Change("accumulator", value)})),
                     out(trace_of("reduce_sum", x=ROWS, options={"acc": value})))  # fmt: skip

    def test_accumulator_of_a_matrix_product(self):
        given = EXAMPLES["matmul"]
        trace = trace_of("matmul", **given)
        assert equal(out(replay(trace, {"matmul": Change("accumulator", "fp32")})),
                     out(trace_of("matmul", **given, options={"acc": "fp32"})))  # fmt: skip

    @pytest.mark.parametrize("order", [Pairwise(), AdjacentTree(), Sequential()])
    @pytest.mark.parametrize("name", ["reduce_sum", "matmul"])
    def test_order(self, name, order):
        given = EXAMPLES[name]
        trace = trace_of(name, **given)
        step = trace.steps[-1].id
        for value in (order, order.to_json(), str(order)):
            found = out(replay(trace, {step: Change("order", value)}))
            assert equal(found, out(trace_of(name, IEEE.with_(sum_order=order, matmul_order=order), **given)))

    @pytest.mark.parametrize("direction", ["up", "down", "toward-zero", "nearest-away", "to-odd"])
    def test_direction(self, direction):
        trace = trace_of(lambda x, y: x / y, x=X, y=Y)
        found = out(replay(trace, {"div": Change("direction", direction)}))
        assert equal(found, out(trace_of(lambda x, y: x / y, IEEE.with_(direction=direction), x=X, y=Y)))

    def test_tie_rule(self):
        x = np.float16([1.0, 1 + 2.0**-10])
        trace = trace_of(lambda x: x + 2.0**-11, x=x)
        assert out(trace).tolist() == [1.0, 1 + 2.0**-9]
        assert out(replay(trace, {"add": Change("tie_rule", "nearest-away")})).tolist() == [1 + 2.0**-10, 1 + 2.0**-9]

    def test_overflow_saturates(self):
        trace = trace_of(lambda x: x * x, x=np.float16([300.0, -4.0]))
        assert out(replay(trace, {"mul": Change("overflow", "saturate")})).tolist() == [65504.0, 16.0]

    def test_overflow_to_infinity(self):
        profile = IEEE.with_(overflow="saturate", saturated_formats="fp16")
        trace = trace_of(lambda x: x * x, profile, x=np.float16([300.0]))
        assert out(trace).tolist() == [65504.0]
        assert out(replay(trace, {"mul": Change("overflow", "ieee")})).tolist() == [np.inf]

    def test_exponent_unbounded(self):
        """x^2 / x overflows in fp16, and does not where only the precision counts."""
        x = np.float16([300.0, 1000.0, 2.0**-13])
        trace = trace_of(lambda x: (x * x) / x, x=x)
        assert not np.isfinite(out(trace)[:2]).any()
        found = out(replay(trace, {"mul": Change("exponent", "unbounded", "wide")}))
        assert np.abs(found / x.astype(np.float64) - 1).max() <= 2.0**-10

    def test_exponent_keeps_the_precision(self):
        """Products of 2p bits are still rounded to p."""
        x = np.float16([1 + 2.0**-10])
        trace = trace_of(lambda x: x * x - x, x=x)
        assert equal(out(replay(trace, {"mul": Change("exponent", "unbounded", "wide")})), out(trace))

    @pytest.mark.parametrize("fmt", ["fp32", "fp64"])
    def test_exponent_of_wider_formats(self, fmt):
        big = 2.0 ** (100 if fmt == "fp32" else 1000)
        trace = trace_of(lambda x: (x * x) / x, format=fmt, x=np.array([big, 1.5]))
        assert out(trace).tolist() == [np.inf, 1.5]
        assert out(replay(trace, {"mul": Change("exponent", "unbounded", "wide")})).tolist() == [big, 1.5]

    def test_exponent_of_a_region_of_fp64(self):
        trace = trace_of(lambda x: (x * x * x) / (x * x), format="fp64", x=np.array([2.0**600]))
        region = Region(("mul", "mul#2", "mul#3"))
        assert out(replay(trace, {region: Change("exponent", "unbounded", "wide")})).tolist() == [2.0**600]

    def test_subnormals(self):
        trace = trace_of(lambda x: x * 0.5, x=np.float16([2.0**-14, 1.0]))
        assert out(trace).tolist() == [2.0**-15, 0.5]
        assert out(replay(trace, {"mul": Change("subnormals", "flush")})).tolist() == [0.0, 0.5]

    def test_subnormals_kept(self):
        flushing = IEEE.with_(subnormal_outputs="flush", subnormal_inputs="flush")
        trace = trace_of(lambda x: x * 0.5, flushing, x=np.float16([2.0**-14, 1.0]))
        assert out(trace).tolist() == [0.0, 0.5]
        assert out(replay(trace, {"mul": Change("subnormals", "keep")})).tolist() == [2.0**-15, 0.5]

    def test_constant(self):
        trace = trace_of(lambda x: x * 0.1, x=X)
        assert equal(out(replay(trace, {"constant": Change("constant", 0.3)})), out(trace_of(lambda x: x * 0.3, x=X)))

    @pytest.mark.parametrize("mode", ["up", "toward-zero", "nearest-away"])
    def test_cast_mode(self, mode):
        x = RNG.uniform(0, 1, 300).astype(np.float32)
        trace = trace_of(lambda x: ops.cast(x, "fp16"), x=x)
        assert equal(
            out(replay(trace, {"cast": Change("cast", mode)})),
            out(trace_of(lambda x: ops.cast(x, "fp16", mode=mode), x=x)),
        )

    def test_cast_doubled(self):
        x = np.float32([1 + 2.0**-9 + 2.0**-20, 1.2345])
        trace = trace_of(lambda x: ops.cast(x, "fp16"), x=x)
        found = out(replay(trace, {"cast": Change("cast", {"through": ["bf16"]})}))
        assert equal(found, out(trace_of(lambda x: ops.cast(ops.cast(x, "bf16"), "fp16"), x=x)))

    def test_scale(self):
        trace = trace_of(lambda x: ops.exp(-x), x=X)
        found = out(replay(trace, {"exp": Change("scale", 1 + 2.0**-10)}))
        assert equal(found, out(trace_of(lambda x: ops.exp(-x) * (1 + 2.0**-10), x=X)))

    @pytest.mark.parametrize("index", [0, 7, -1])
    def test_drop_term(self, index):
        trace = trace_of("reduce_sum", x=ROWS)
        without = ROWS.copy()
        without[:, index] = 0
        assert equal(out(replay(trace, {"sum": Change("drop_term", index)})), out(trace_of("reduce_sum", x=without)))

    @pytest.mark.parametrize(("axis", "index", "place"), [(None, 7, (2, 1)), ((0, 1), -1, (3, 2)), (0, 2, (2,))])
    def test_drop_term_counts_the_terms_of_all_axes(self, axis, index, place):
        x = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
        without = x.copy()
        without[place] = 0
        trace = trace_of(lambda x: ops.sum_(x, axis=axis), x=x)
        assert equal(out(replay(trace, {"sum": Change("drop_term", index)})), without.sum(axis=axis))

    def test_approximation(self):
        from precdiff.device.approximation import APPROXIMATIONS, Approximation
        from precdiff.rounding import round_array

        name = "test: exp, one part in a thousand off"
        if name not in APPROXIMATIONS:
            Approximation(
                name,
                "this test",
                4.0,
                lambda operands, r: round_array(1.001 * np.exp(operands[0].astype(np.float64)), r),
            )
        profile = IEEE.with_(approximations={"exp": name})
        trace = trace_of(lambda x: ops.exp(-x), profile, x=X)
        plain = out(trace_of(lambda x: ops.exp(-x), x=X))
        assert not equal(out(trace), plain)
        assert equal(out(replay(trace, {"exp": Change("approximation")})), plain)


class TestRegions:
    def chain(self, x):
        a = x / 3.0
        b = a * a
        c = b + a
        return c * b

    def test_a_region_need_not_be_convex(self):
        """{div, add} without mul between them: mul reads the rounded quotient, add the exact one."""
        x = np.float16([1.0, 2.0, 5.0, 7.0])
        trace = trace_of(self.chain, x=x)
        found = replay(trace, {Region(("div", "add")): Change("exact")})
        a = (x.astype(np.float64) / 3).astype(np.float16)
        b = (a.astype(np.float64) ** 2).astype(np.float16)
        c = (b.astype(np.float64) + x.astype(np.float64) / 3).astype(np.float16)
        assert equal(found.values["mul"], b)
        assert equal(found.values["add"], c)

    def test_two_regions_are_not_one(self):
        """Steps changed apart round between them; in one region they do not."""
        x = X
        trace = trace_of(lambda x: (x / 3.0) * 3.0, x=x)
        apart = out(replay(trace, {"div": Change("exact"), "mul": Change("exact")}))
        together = out(replay(trace, {Region(("div", "mul")): Change("exact")}))
        assert equal(apart, out(trace))
        assert equal(together, x)
        assert not equal(apart, together)

    def test_a_wide_exit_is_read_by_another_region(self):
        x = np.float16([1.0, 2.0, 5.0, 7.0, 11.0])
        trace = trace_of(lambda x: (x / 3.0) * 3.0, x=x)
        assert equal(out(replay(trace, {"div": Change("exact", exit="wide"), "mul": Change("exact")})), x)

    def test_regions_of_different_kinds_meet(self):
        """A format region feeds an exact one: the value between is rounded as declared."""
        trace = trace_of(core_v1, x=X, y=Y)
        found = replay(trace, {"log": Change("format", "fp32"), Region(("mul", "exp")): Change("exact")})
        rounded = np.log(X.astype(np.float64)).astype(np.float32).astype(np.float16)
        exact = np.exp(Y.astype(np.longdouble) * rounded.astype(np.longdouble))
        assert equal(found.values["log"], rounded)
        assert equal(out(found), exact.astype(np.float64).astype(np.float16))

    def test_a_shared_step_is_replaced_everywhere(self):
        trace = trace_of(lambda x: ops.exp(x * 0.5) + ops.log(x * 0.5 + 1.0), x=X)
        changed = replay(trace, {"mul": Change("scale", 2.0)})
        other = trace_of(lambda x: ops.exp((x * 0.5) * 2.0) + ops.log(x * 0.5 + 1.0), x=X)
        assert equal(changed.values["exp"], other.values["exp"])
        assert equal(changed.values["log"], trace.values["log"])

    def test_only_what_is_downstream_runs_again(self):
        trace = pow_trace()
        changed = replay(trace, {"log": Change("scale", 2.0)})
        moved = {id for id in trace.values if not same_bits(trace, changed, id)}
        assert moved >= {"log", "mul", "exp"}
        assert all("log" in cone(trace, id).steps for id in moved)

    @pytest.mark.parametrize("second", ["log", Region(("mul", "log"))])
    def test_overlapping_regions_are_refused(self, second):
        with pytest.raises(PrecDiffError, match="step 'log' is in two changes; join them or take one away"):
            replay(pow_trace(), {Region(("log", "exp")): Change("exact"), second: Change("format", "fp32")})

    def test_an_unknown_step_names_the_nearest(self):
        with pytest.raises(UnknownNameError, match=r"unknown step 'lgo'. Did you mean 'log'\?"):
            replay(pow_trace(), {"lgo": Change("exact")})

    def test_cone_and_layer(self):
        trace = trace_of(lambda x: ops.softplus(x) + ops.softplus(-x), x=X)
        assert set(cone(trace, "softplus/exp").steps) == {"softplus/abs", "softplus/neg", "softplus/exp"}
        layer = layer_of(trace, trace.step("softplus/exp").layer)
        assert {s.split("/")[0] for s in layer.steps} == {"softplus"}
        assert len(layer.steps) == 14


class TestEnds:
    def test_a_tie_no_precision_decides_goes_by_the_formats_rule(self):
        """exp(log x) * 1 is x to any precision, and x is a tie of bf16."""
        x = np.float32([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1.5])
        trace = trace_of(lambda x: ops.cast(ops.exp(ops.log(x)), "bf16"), x=x)
        found = out(replay(trace, {cone(trace, "cast"): Change("exact")}))
        assert found.tolist() == [1.0, 1 + 2.0**-6, 1.5]

    def test_an_undecided_choice_stands_as_the_device_made_it(self):
        x = np.float32([3.0, 5.0, 7.0])
        trace = trace_of(lambda x: ops.where(ops.exp(ops.log(x)) < x, 0.0 * x - 1.0, 0.0 * x + 1.0), x=x)
        step = next(s.id for s in trace.steps if s.op == "lt")
        found = replay(trace, {cone(trace, step): Change("exact")})
        assert same_bits(trace, found, step)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"exp": Change("constant", 1.0)}, "change constant: step 'exp' is exp, not a constant"),
            ({"exp": Change("cast", "up")}, "change cast: step 'exp' is exp, not a cast"),
            ({"exp": Change("drop_term", 0)}, "change drop_term: step 'exp' is exp, which sums nothing"),
            ({"exp": Change("direction", "sideways")}, "direction.*'sideways'.*nearest-even"),
            ({"exp": Change("format", "fp17")}, "unknown format 'fp17'. Did you mean 'fp1"),
            ({"exp": Change("overflow", "explode")}, "overflow.*'explode'; allowed: ieee, saturate"),
        ],
    )
    def test_changes_that_do_not_fit_say_so(self, change, message):
        with pytest.raises(PrecDiffError, match=message):
            replay(pow_trace(), change)

    def test_a_term_that_is_not_there(self):
        with pytest.raises(PrecDiffError, match="step 'sum' has 200 terms; found index 200"):
            replay(trace_of("reduce_sum", x=ROWS), {"sum": Change("drop_term", 200)})

    def test_another_profile_runs_every_step(self):
        trace = trace_of("reduce_sum", x=ROWS)
        found = replay(trace, {}, get_profile("numpy-pairwise"))
        assert equal(out(found), out(trace_of("reduce_sum", "numpy-pairwise", x=ROWS)))
        assert found.profile.name == "numpy-pairwise"

    def test_a_change_on_another_profile(self):
        trace = trace_of("reduce_sum", x=ROWS)
        found = replay(trace, {"sum": Change("accumulator", "fp64")}, get_profile("numpy-pairwise"))
        assert equal(out(found), out(trace_of("reduce_sum", "numpy-pairwise", x=ROWS, options={"acc": "fp64"})))

    def test_stochastic_traces_replay(self):
        profile = IEEE.with_(direction="stochastic")
        trace = trace_of(lambda x: ops.exp(x * 0.1) + x, profile, x=X)
        assert all(same_bits(trace, replay(trace, {}), id) for id in trace.values)
        changed = replay(trace, {"mul": Change("exact")})
        assert np.isfinite(out(changed)).all()


def test_every_kernel_replays_with_one_change():
    """A change in the middle of every registered kernel, on its own example, gives a trace of the same shape."""
    for name in ("pow", "softmax", "layernorm", "matmul", "reduce_sum", "logsumexp"):
        assert name in KERNELS
        trace = trace_of(name, **EXAMPLES[name])
        middle = [s.id for s in trace.steps if get_format(s.format).is_float][len(trace.steps) // 3 :][0]
        found = replay(trace, {middle: Change("format", "fp32", "wide")})
        assert {id: v.shape for id, v in found.values.items()} == {id: v.shape for id, v in trace.values.items()}
        assert dataclasses.replace(found, values={}) == dataclasses.replace(trace, values={})
