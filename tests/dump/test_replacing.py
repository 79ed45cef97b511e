"""A run that fails never costs the dump that was there, and a dump that is not whole is never a pass."""

import numpy as np
import pytest
from click.testing import CliRunner

from precdiff import api
from precdiff.cli.main import main
from precdiff.comparison import overall
from precdiff.dump import DumpWriter, open_dump
from precdiff.errors import FileError, KernelError, NotComparableError
from precdiff.kernels import run_kernel
from precdiff.report import Report, text
from precdiff.report.values import values_report
from precdiff.web import create_app

X = np.float16([[1.0, 2.0, 3.0]])
INCOMPLETE = "incomplete: the run ended before its output was written"


def fails_late(x):
    y = x + x
    raise RuntimeError(str(y.shape))


def fails_early(x):
    raise RuntimeError("at once")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.h5"


def steps_of(path):
    with open_dump(path) as dump:
        return [step.op for step in dump.steps], dump.complete


def cut(path):
    """A dump of a run that was killed in softmax's last step."""
    writer = DumpWriter(path)
    trace = run_kernel("softmax", {"x": X}).trace
    trace.outputs.clear()
    sink = writer.sink(trace)
    for step in trace.steps[:-1]:
        sink(step, trace.values[step.id])
    writer.close()
    return path


def test_a_failure_leaves_the_complete_dump_and_its_steps_beside_it(path):
    api.run("softmax", inputs={"x": X}, dump=path)
    before = path.read_bytes()
    with pytest.raises(KernelError, match=r"RuntimeError.*run\.h5 is as it was; the steps .*run\.h5\.new"):
        api.run(fails_late, inputs={"x": X}, dump=path)
    assert path.read_bytes() == before
    assert steps_of(path.with_name("run.h5.new")) == (["add"], False)


def test_a_failure_before_the_first_step_leaves_no_file(path):
    with pytest.raises(KernelError):
        api.run(fails_early, inputs={"x": X}, dump=path)
    assert list(path.parent.iterdir()) == []
    api.run("softmax", inputs={"x": X}, dump=path)
    with pytest.raises(KernelError):
        api.run("softmax", inputs={"z": X}, dump=path)
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]


def test_success_replaces_the_older_dump(path):
    api.run("softmax", inputs={"x": X}, dump=path)
    api.run(lambda x: x * x, inputs={"x": X}, dump=path)
    assert steps_of(path) == (["mul"], True)
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]


def test_an_incomplete_dump_is_written_over_in_place(path):
    cut(path)
    with pytest.raises(KernelError):
        api.run(fails_late, inputs={"x": X}, dump=path)
    assert steps_of(path) == (["add"], False)
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]


@pytest.mark.parametrize("judge", [api.compare, api.explain])
def test_an_incomplete_dump_is_undecided_where_its_steps_pass(path, judge):
    report = judge(cut(path))
    assert overall(row.verdict for row in report.tensors) == "pass"
    assert report.verdict == "undecided" and report.to_json()["provenance"]["incomplete"] is True
    assert INCOMPLETE in text.render(Report.from_json(report.to_json()))


def test_an_incomplete_dump_fails_where_a_step_fails(path):
    trace = run_kernel("softmax", {"x": X}).trace
    trace.outputs.clear()
    wrong = trace.steps[-2].id
    trace.values[wrong] = trace.values[wrong] * 2
    writer = DumpWriter(path)
    sink = writer.sink(trace)
    for step in trace.steps[:-1]:
        sink(step, trace.values[step.id])
    writer.close()
    report = api.compare(path)
    assert report.verdict == "fail" and INCOMPLETE in text.render(report)


def test_against_another_dump_it_is_undecided_too(path):
    whole = path.with_name("whole.h5")
    api.run("softmax", inputs={"x": X}, dump=whole)
    cut(path)
    assert api.compare(whole, whole).verdict == "pass"
    for sides in ((path, whole), (whole, path)):
        assert api.compare(*sides).verdict == "undecided"
    assert values_report(path, whole, api.Settings()).provenance["incomplete"] is True


def test_without_a_step_nothing_is_judged(path):
    writer = DumpWriter(path)
    writer.sink(run_kernel("softmax", {"x": X}).trace)
    writer.close()
    with pytest.raises(NotComparableError, match="nothing was computed") as caught:
        api.compare(path)
    assert INCOMPLETE in str(caught.value)


@pytest.mark.parametrize("judge", [api.compare, api.explain])
def test_changed_values_are_not_judged(path, judge):
    big = np.linspace(0, 1, 40_000, dtype=np.float32)
    api.run(lambda x: x + x, inputs={"x": big}, dump=path)
    import h5py

    with h5py.File(path, "r+") as file:
        file["data/add"][7] = 5.0
    with pytest.raises(FileError, match=r"tensor 'add' do not match .*precdiff verify .*run\.h5"):
        judge(path)
    with open_dump(path) as dump:
        assert dump.tensor("add")[7] == 5.0  # inspect still shows what is there


def test_terminal_check_and_page_say_so(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    cut(path)
    run = lambda *words: CliRunner().invoke(main, list(words))  # noqa: E731
    compared = run("compare", "run.h5", "-o", "result.json")
    assert compared.exit_code == 2 and f"UNDECIDED: {INCOMPLETE}" in compared.stderr
    checked = run("check", "result.json", "--max-ulp", "1000")
    assert checked.exit_code == 2 and INCOMPLETE in checked.stderr and "UNDECIDED" in checked.stderr
    client = create_app(path.parent, {"TOKEN": "t"}).test_client()
    client.get("/?token=t")
    for entry in client.get("/index.json").json["runs"]:
        assert INCOMPLETE in client.get(f"/runs/{entry['id']}").text
