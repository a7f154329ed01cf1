"""Nights under pytest: saved, judged at the end, a regression fails its test, all ranks alike."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from pytest_pario.baseline.store import Store
from tests.mpi.jobs import LIMIT_S, Job, run_pario, run_pytest
from tests.unit.baseline.nights import FIRST, content, scale_entry

SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented

PATTERNS = [
    Pattern(f"segments-{k}K", Segmented(4096 * k, (1024 * k,), count=4), pointer="explicit") for k in (32, 64, 96)
]

@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_write(pattern, pario):
    record = pario.run(pattern, "write", rounds=2)
    assert repr(pario.judge(record)).startswith(pattern.name)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "test_w.py").write_text(SUITE)
    (tmp_path / "scratch").mkdir()
    return tmp_path


def night(site: Path, *arguments: str) -> Job:
    """One run of the suite as the operator starts it."""
    return run_pytest(2, "--pario-dir=scratch", "--pario-machine=box", "--benchmark-quiet", *arguments, directory=site)


def test_the_first_night_explains_itself_and_a_regression_fails_its_test(site: Path) -> None:
    job = night(site, "--pario-save", "--pario-passes=2")
    assert job.counts() == {"passed": 6}, job.output  # each test once in each pass
    order = [line for line in job.output.splitlines() if "pass" in line and "::" in line]
    assert order == sorted(order, key=lambda line: "pass2" in line)
    assert "first night of box: nothing to compare with yet; saved baselines/box/" in job.output
    assert "from night 15 on" in job.output
    saved = json.loads(next((site / "baselines/box").glob("*.json")).read_text())
    assert [len(one["stats"]["data"]) for one in saved["benchmarks"]] == [2, 2, 2]  # one round in each of two passes

    # 20 nights on which the first pattern was ten times as fast until four nights ago
    store, rng = Store(site / "baselines", "box"), np.random.default_rng(1)
    shutil.rmtree(site / "baselines")
    for number in range(20):
        factors = [np.exp(rng.normal(0, 0.2)) * (10 if test == 0 and number < 16 else 1) for test in range(3)]
        entries = [scale_entry(one, f) for one, f in zip(saved["benchmarks"], factors, strict=True)]
        store.save_night(content(entries), FIRST + datetime.timedelta(days=number))
    job = night(site, "--junitxml=j.xml", "--pario-remeasure=0")
    assert job.status == 3, job.output
    assert job.counts() == {"failed": 1, "passed": 2}, job.output
    assert "test_w.py::test_write[segments-32K] - segments-32K/write: " in job.output
    assert "since 2026-01-17, 5 nights" in job.output
    cases = ET.parse(site / "j.xml").findall(".//testcase")
    assert sorted(case.get("name") or "" for case in cases) == [f"test_write[segments-{k}K]" for k in (32, 64, 96)]
    assert len(ET.parse(site / "j.xml").findall(".//failure")) == 1

    # the same from the command line after the night was saved, and after it was accepted
    assert night(site, "--pario-save", "--pario-remeasure=0").status == 3
    checked = run_pario("check", directory=site)
    assert checked.status == 3
    assert "REGRESSED segments-32K/write" in checked.output
    accepted = run_pario("accept", "--all-red", "--reason", "smaller stripe", directory=site)
    assert accepted.status == 0, accepted.output
    assert run_pario("check", directory=site).status == 0


def test_a_yellow_test_is_measured_again_and_kept_beside_the_first(site: Path) -> None:
    night(site, "--pario-save")
    saved = json.loads(next((site / "baselines/box").glob("*.json")).read_text())
    store, rng = Store(site / "baselines", "box"), np.random.default_rng(1)
    shutil.rmtree(site / "baselines")
    for number in range(16):
        factors = [np.exp(rng.normal(0, 0.02)) * (50 if test == 0 else 1) for test in range(3)]
        entries = [scale_entry(one, f) for one, f in zip(saved["benchmarks"], factors, strict=True)]
        store.save_night(content(entries), FIRST + datetime.timedelta(days=number))
    job = night(site, "--pario-save")
    assert job.status == 0, job.output
    assert "yellow: low tonight; again: " in job.output, job.output
    assert job.counts() == {"passed": 3}, job.output  # the second measurement is no second test
    last = json.loads(max((site / "baselines/box").glob("*.json")).read_text())
    again = {one["name"]: len(one["extra_info"].get("again_s", ())) for one in last["benchmarks"]}
    assert again["test_write[segments-32K]"] == 2
    assert len(last["benchmarks"][0]["stats"]["data"]) == 2

    # a second measurement that fails is no second test, and bytes that do not move are no regression
    (site / "test_w.py").write_text(FAILS_AGAIN)
    job = night(site, "--junitxml=j.xml")
    assert job.counts() == {"failed": 2, "passed": 2}, job.output
    assert job.status == 1, job.output
    assert "measured again: " in job.output
    assert "OSError: gone" in job.output
    assert "test_nothing: damaged: no bytes were moved" in job.output
    cases = [case.get("name") for case in ET.parse(site / "j.xml").findall(".//testcase")]
    assert sorted(filter(None, cases)) == ["test_nothing", *(f"test_write[segments-{k}K]" for k in (32, 64, 96))]


FAILS_AGAIN = f"""{SUITE}
CALLS = []

@pytest.fixture(autouse=True)
def second_time(request):
    CALLS.append(request.node.name)
    if CALLS.count(request.node.name) > 1:
        raise OSError("gone")

def test_nothing(bandwidth):
    bandwidth(lambda: 0, rounds=1)
"""


def test_two_configurations_in_pairs(site: Path) -> None:
    """Whole runs of both sides, each with a store of its own: the site's nights and what is red there do not matter."""
    night(site, "--pario-save")
    (site / "pytest.ini").write_text("[pytest]\naddopts = --pario-machine=box --pario-save")
    (site / "env.sh").write_text("export SPOIL=$1")
    sides = ("plain", "hint:cb_nodes=1 env:X=1 source=env.sh")
    given = ["-n", "2", "--runs", "1", "--json=pairs.json", "--", "--pario-dir=scratch", "-k", "32K"]
    command = [sys.executable, "-m", "pytest_pario.cli", "ab", *sides, *given]
    with subprocess.Popen(command, cwd=site, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        until = time.monotonic() + LIMIT_S
        while not (site / "pairs.json").exists() and time.monotonic() < until and running.poll() is None:
            time.sleep(0.1)
        running.terminate()  # as a batch system does at its limit of time
        output, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 4, output
    assert "it was interrupted after " in output
    pairs = json.loads((site / "pairs.json").read_text())["rates"]
    assert [list(side) for side in pairs] == [["test_w.py::test_write[segments-32K]"]] * 2
    assert len(list((site / "baselines/box").glob("*.json"))) == 1
    assert not list((site / "scratch").iterdir())

    spoiled = SUITE + "\nimport os\nif os.environ.get('SPOIL'):\n    from bad import test_bad\n"
    (site / "bad.py").write_text(WRONG.replace("from test_w import PATTERNS", SUITE.partition("@")[0]))
    (site / "test_w.py").write_text(spoiled)
    job = run_pario("ab", "plain", "env:SPOIL=1", *given, directory=site)
    assert job.status == 1, job.output
    assert "WRONG BYTES env:SPOIL=1: test_w.py::test_bad[segments-32K]: " in job.output


WRONG = """
import pytest
import pytest_pario.workloads.runner as runner
from test_w import PATTERNS

@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_bad(pattern, pario, monkeypatch):
    original = runner.verify_written

    def spoil(target, work, content):
        with open(target.own_file, "r+b") as file:
            file.write(bytes(64))
        return original(target, work, content)

    monkeypatch.setattr(runner, "verify_written", spoil)
    pario.run(pattern, "write", rounds=1)
"""


def test_wrong_bytes_are_in_the_night_although_nothing_was_measured(site: Path) -> None:
    """GEN-07: a night of nothing but wrong bytes is saved, and `pario check` knows it."""
    (site / "test_bad.py").write_text(WRONG)
    job = night(site, "--pario-save", "test_bad.py")
    assert job.status == 1, job.output
    assert "(0 series, 3 failed tests)" in job.output
    checked = run_pario("check", directory=site)
    assert checked.status == 1, checked.output
    assert "test_bad.py::test_bad[segments-32K]: damaged: " in checked.output
    assert "3 damaged" in checked.output


def test_an_asserted_verdict_is_one_failure_and_a_history_is_used_unasked(site: Path) -> None:
    first = run_pytest(2, "--pario-dir=scratch", "--benchmark-quiet", directory=site)
    assert "nothing kept, nothing judged: --pario-machine NAME keeps" in first.output
    suite = SUITE.replace("assert repr(pario.judge(record)).startswith(pattern.name)", "assert pario.judge(record)")
    (site / "test_w.py").write_text(suite)
    night(site, "--pario-save")
    saved = json.loads(next((site / "baselines/box").glob("*.json")).read_text())
    shutil.rmtree(site / "baselines")
    store, rng = Store(site / "baselines", "box"), np.random.default_rng(1)
    for number in range(20):
        factors = [np.exp(rng.normal(0, 0.2)) * (10 if test == 0 and number < 16 else 1) for test in range(3)]
        entries = [scale_entry(one, f) for one, f in zip(saved["benchmarks"], factors, strict=True)]
        store.save_night(content(entries), FIRST + datetime.timedelta(days=number))
    report = ["--junitxml=j.xml", "--junit-prefix=nightly", "--pario-remeasure=0"]
    for name in (suite, SUITE):  # asserted by the test, or failed at the end
        (site / "test_w.py").write_text(name)
        job = run_pytest(2, "--pario-dir=scratch", "--benchmark-quiet", *report, directory=site)
        assert job.status == 3, job.output
        assert job.counts() == {"failed": 1, "passed": 2}, job.output
        assert len(ET.parse(site / "j.xml").findall(".//testcase")) == 3
        assert len(ET.parse(site / "j.xml").findall(".//failure")) == 1


def test_a_store_that_cannot_be_written_is_told_before_anything_is_measured(site: Path) -> None:
    (site / "full").write_text("")
    job = night(site, "--pario-save", "--pario-store=full")
    assert job.status != 0
    assert "cannot save nights in full/box: Not a directory" in job.output
    assert "INTERNALERROR" not in job.output
    assert "passed" not in job.output


def test_wrong_names_and_damaged_nights_are_told(site: Path) -> None:
    job = night(site, "--pario-machine=a/b")
    assert job.status != 0
    assert "--pario-machine = 'a/b' (from command line): must be letters, digits" in job.output
    night(site, "--pario-save", "-k", "32K")
    (site / "baselines/box/broken.json").write_text('{"benchmarks": [')
    job = night(site, "-k", "32K")
    assert job.status == 0, job.output
    assert "broken.json: truncated or not JSON" in job.output


def test_nights_of_b_eff_io_are_comparable_although_time_decides_their_bytes(tmp_path: Path) -> None:
    """BEFF-24, BEFF-67: patterns and values are series of their own, the same every night, another for another T."""
    suite = Path(__file__).parents[2] / "suites" / "test_beffio.py"

    def run(seconds: float) -> Job:
        chosen = ["-k", "n2 and write and separated", f"--pario-time={seconds}", "--pario-param=beff_limit=4M"]
        chosen += ["--pario-param=beff_max_chunk=2M"]
        where = ["--pario-dir=.", "--pario-machine=box", "--pario-save", "--benchmark-quiet"]
        return run_pytest(2, str(suite), *chosen, *where, directory=tmp_path)

    for seconds in (0.5, 0.5, 1.0):
        job = run(seconds)
        assert job.counts()["passed"] == 9, job.output  # eight patterns and the value of the type
    first, second, longer = (
        {sample.series: sample for sample in one.samples} for one in Store(tmp_path / "baselines", "box").read().nights
    )
    assert len(first) == 9
    assert set(first) == set(second)
    kinds = {(series.phase, series.moved_bytes, "T=0.5 s" in series.kind) for series in first}
    assert kinds == {("write", 0, True)}
    assert len({series.filesystem for series in first}) == 1
    assert all(series.filesystem for series in first)
    assert not set(first) & set(longer)
