from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.cli import main
from pytest_pario.errors import HintValueError, ParameterError
from pytest_pario.model import Hints, Pattern
from pytest_pario.patterns.rows import row, segmented, strided
from pytest_pario.report.sweep import beffio_hints_text, chunk_of, romio_hints_text, sweep_lines, type_of
from pytest_pario.session import sweep
from pytest_pario.session.sweep import parse_pattern
from pytest_pario.session.sweep_job import Place
from pytest_pario.units import KiB
from pytest_pario.workloads.beffio.hintfile import HintFile, parse_hints
from pytest_pario.workloads.hints import relieve
from pytest_pario.workloads.sweep.analysis import (
    Cell,
    Estimate,
    Swept,
    Trial,
    coverage,
    decide,
    interval,
    paired_ratios,
    plain_swept,
    screen,
)
from pytest_pario.workloads.sweep.decision import (
    doubled_ranks,
    draw_pairs,
    gain_probability,
    least_rounds,
    pair_ratios,
    reject,
)
from pytest_pario.workloads.sweep.matrix import MATRICES, HintSet, cross, order_of, parse_matrix


def test_matrices_are_crossed() -> None:  # GPFS-04, GPFS-38
    sets = cross(parse_matrix(["cb_nodes=1,2", "romio_cb_write=enable,disable,automatic"]))
    assert sets[0] == HintSet()
    assert sets[0].name == "default"
    assert len(sets) == 7
    assert sets[1].name == "cb_nodes=1 romio_cb_write=enable"
    assert parse_matrix(["cb_nodes=8"], "romio-write")["cb_nodes"] == ("8",)
    # joined keys get the same value; one that is given takes the place of its own
    assert parse_matrix(["cb_nodes=8,8"])["cb_nodes"] == ("8",)
    joined = cross(parse_matrix(["ind_wr_buffer_size=1", "b+a=2,3"], "ibm-as-romio"))
    assert len(joined) == 1 + 2 * 3 * 2 * 2
    assert all(one.hints["cb_buffer_size"] == one.hints["ind_rd_buffer_size"] for one in joined[1:])
    assert {one.hints["ind_wr_buffer_size"] for one in joined[1:]} == {"1"}
    assert all(one.hints["a"] == one.hints["b"] for one in joined[1:])
    # all of ROMIO that stands in for IBM's: two-phase, sieving, and the buffers of both
    keys = {key for matrix in ("romio-write", "romio-read") for one in cross(MATRICES[matrix]) for key in one.hints}
    assert keys >= {"romio_ds_write", "romio_ds_read", "ind_wr_buffer_size", "ind_rd_buffer_size", "cb_buffer_size"}
    assert keys - {"cb_nodes", "cb_config_list"} == set(cross(MATRICES["ibm-as-romio"])[1].hints)
    assert {"IBM_largeblock_io", "IBM_io_buffer_size"} < set(MATRICES["ibm"])
    assert all(len(cross(matrix)) > 1 for matrix in MATRICES.values())


@pytest.mark.parametrize(
    ("words", "ready", "told"),
    [
        ([], None, "at least once"),
        (["x"], None, "key=value"),
        (["x="], None, "key=value"),
        ([], "fast", "romio-write"),
        (["k" * 300 + "=1"], None, "at most 254 bytes"),
        (["a b=1"], None, "without blanks"),
        (["k=" + "v" * 2000], None, "at most 1023"),
        (["cb_nodes=1", "cb_nodes=2"], None, "the only --hint with cb_nodes"),
        (["a+b=1", "b=2"], None, "the only --hint with b"),
        (["a+=1"], None, "key=value"),
        ([], "", "romio-write"),
    ],
)
def test_wrong_matrices(words: list[str], ready: str | None, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        parse_matrix(words, ready)


def test_values_that_crash_are_refused() -> None:  # GEN-13
    with pytest.raises(HintValueError, match="cb_nodes"):
        cross({"cb_nodes": ("0",)})
    with pytest.raises(ParameterError, match="at most 4096"):
        cross({key: tuple("abcdefghij") for key in "uvwxy"})


@pytest.mark.parametrize(("count", "rounds"), [(1, 3), (2, 3), (7, 4), (30, 9)])
def test_every_set_in_every_round_between_defaults(count: int, rounds: int) -> None:
    plans = order_of(count, rounds)
    assert len(plans) == rounds
    for plan in plans:
        assert sorted(number for number in plan if number) == list(range(1, count))
        assert plan[0] == 0
        assert plan[-1] == 0
        assert max(np.diff([place for place, number in enumerate(plan) if number == 0]), default=0) <= 5
    with pytest.raises(ParameterError):
        order_of(3, 0)


def test_ratios_against_the_defaults_around() -> None:
    assert paired_ratios([0, 1, 2, 0], [100.0, 200.0, 50.0, 100.0]) == {1: 2.0, 2: 0.5}
    # the machine slows down fourfold meanwhile
    assert paired_ratios([0, 1, 0], [400.0, 200.0, 100.0]) == {1: 1.0}
    with pytest.raises(ParameterError):
        paired_ratios([1, 0], [1.0, 1.0])


def test_coverage_of_the_interval() -> None:
    """A nominal 90 % interval holds the true ratio at least that often; of few rounds it is the range of all."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        found = interval(np.exp(rng.normal(np.log(1.2), 0.1, 15)).tolist())
        hits += found.low <= 1.2 <= found.high
    assert 0.88 <= hits / 400 <= 0.99
    assert interval([2.0, 1.0, 3.0]) == Estimate(pytest.approx(2.0), 1.0, pytest.approx(3.0), 3)  # type: ignore[arg-type]
    assert (coverage(3), coverage(5)) == (0.75, 0.9375)


SETS = cross({"romio_cb_write": ("enable", "disable"), "cb_nodes": ("1", "2")})


def measure(
    sets: Sequence[HintSet],
    speeds: Mapping[int, float],
    noise: Callable[[], float],
    told: Mapping[int, Mapping[str, str]] | None = None,
    rounds: tuple[int, int] = (5, 12),
) -> Swept:
    """A sweep over sets that gain what `speeds` says; every set has its hints in force unless `told` says otherwise."""

    def rates(plans: Sequence[Sequence[int]]) -> list[list[float]]:
        return [[100 * speeds.get(number, 1.0) * noise() for number in plan] for plan in plans]

    in_force = [{"other": "x", **one.hints, **(told or {}).get(number, {})} for number, one in enumerate(sets)]
    in_force = [{key: value for key, value in one.items() if value} for one in in_force]
    plans = order_of(len(sets), rounds[0])
    found = screen("strided-32k", "write", sets, plans=plans, rates=rates(plans), told=in_force)
    if not found.candidates:
        return found
    pairs = draw_pairs(found.candidates, rounds[1], seed=1)
    return decide(found, found.candidates, plans=pairs, rates=rates(pairs))


def swept(gain: float, sigma: float, told: Mapping[int, Mapping[str, str]] | None = None, seed: int = 5) -> Swept:
    """The third set gains."""
    rng = np.random.default_rng(seed)
    return measure(SETS, {3: gain}, lambda: float(np.exp(rng.normal(0, sigma))), told)


def test_a_gain_is_recommended() -> None:
    found = swept(1.5, 0.03)
    best = found.recommended
    assert best.hints.hints == {"romio_cb_write": "disable", "cb_nodes": "1"}
    assert best.estimate.low < 1.5 < best.estimate.high * 1.05
    assert best.estimate.rounds == 12  # the fresh rounds count, not those that chose the set
    text = "\n".join(sweep_lines([found], library="MPICH"))
    assert "recommended: cb_nodes=1 romio_cb_write=disable (1." in text
    assert "interval of all sets: 90% over 5 rounds" in text
    assert romio_hints_text(found) == "cb_nodes 1\nromio_cb_write disable\n"


def skewed(rng: np.random.Generator) -> float:
    """Mostly steady, now and then much slower: what storage does."""
    return float(np.exp(rng.normal(0, 0.05)) * (0.3 if rng.random() < 0.2 else 1.0))


NOISES: Mapping[str, Callable[[np.random.Generator], float]] = {
    "little": lambda rng: float(np.exp(rng.normal(0, 0.05))),
    "much": lambda rng: float(np.exp(rng.normal(0, 0.3))),
    "skewed": skewed,
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rounds", [(3, 6), (5, 12), (9, 30)])
def test_noise_is_not_recommended(noise: str, rounds: tuple[int, int]) -> None:
    """Of sweeps over 24 sets that do nothing at most 5 % recommend one: 200 of them, three standard deviations."""
    sets = cross(MATRICES["romio-write"])
    assert len(sets) == 25
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = measure(sets, {}, lambda rng=rng: NOISES[noise](rng), rounds=rounds)  # type: ignore[misc]
        wrong += found.recommended is not found.cells[0]
    assert wrong <= 10 + 3 * (200 * 0.05 * 0.95) ** 0.5


def test_a_gain_among_many_is_found() -> None:
    sets = cross(MATRICES["romio-write"])
    right = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = measure(sets, {7: 1.5}, lambda rng=rng: float(np.exp(rng.normal(0, 0.15))))  # type: ignore[misc]
        right += found.recommended is found.cells[7]
    assert right >= 36


def test_too_few_rounds_recommend_nothing() -> None:
    rng = np.random.default_rng(1)
    found = measure(SETS, dict.fromkeys(range(1, 5), 3.0), lambda: float(np.exp(rng.normal(0, 0.01))), rounds=(3, 5))
    assert found.recommended is found.cells[0]
    assert found.too_few == 6
    assert "too few rounds for 3 sets: at least 6" in "\n".join(sweep_lines([found], library="MPICH"))
    assert [least_rounds(tests) for tests in (1, 2, 3, 24)] == [5, 6, 6, 9]
    text = "\n".join(sweep_lines([swept(1.0, 0.001)], library="MPICH"))
    assert "recommended: the default, no set surely gains" in text
    assert romio_hints_text(swept(1.0, 0.001)) == ""


def test_exact_signed_ranks() -> None:
    """As counted by hand: all signs of 1..n are equally likely."""
    assert gain_probability([2.0, 3.0, 4.0]) == 1 / 8
    assert gain_probability([2.0, 3.0, 1 / 4]) == 5 / 8
    assert gain_probability([1.0, 1.0]) == 1.0
    # equal differences share the mean of their ranks: 1.5, 1.5, 3
    assert doubled_ranks(np.array([1.0, 1.0, 2.0])).tolist() == [3, 3, 6]
    assert gain_probability([2.0, 1 / 2, 4.0]) == 3 / 8
    assert reject([0.01, 0.02, 0.2]) == [True, True, False]
    assert reject([0.02, 0.02, 0.02]) == [False, False, False]


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 99))
def test_pairs(count: int, rounds: int, seed: int) -> None:
    plans = draw_pairs(range(1, count + 1), rounds, seed)
    assert len(plans) == rounds
    for plan in plans:
        assert sorted(number for number in plan if number) == list(range(1, count + 1))
        assert all(0 in plan[place : place + 2] for place in range(0, len(plan), 2))
        # a set that is twice as fast is so in both orders
        assert set(pair_ratios(plan, [2.0 if number else 1.0 for number in plan]).values()) == {2.0}


def test_what_did_not_act_is_not_presented_as_if_it_had() -> None:  # GPFS-43, GEN-12
    dropped = swept(3.0, 0.001, {3: {"cb_nodes": ""}})
    assert dropped.recommended is dropped.cells[0]
    assert "has not acted: the library dropped cb_nodes" in "\n".join(sweep_lines([dropped], library="MPICH"))
    changed = swept(3.0, 0.001, {3: {"cb_nodes": "7"}})
    assert changed.recommended is changed.cells[0]
    text = "\n".join(sweep_lines([changed], library="MPICH"))
    assert "has not acted: cb_nodes=1 asked, 7 in force\n" in text
    default = {"cb_nodes": "4", "romio_cb_write": "automatic"}
    same = swept(3.0, 0.001, {0: default, 3: default})
    assert same.cells[3].same_as == "default"
    assert same.recommended is same.cells[0]
    text = "\n".join(sweep_lines([same], library="MPICH"))
    assert "cb_nodes=1 asked, 4 in force; romio_cb_write=disable asked, automatic in force; the same hints" in text


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        (
            "UFS: Generic ROMIO driver for all UNIX-like file systems",
            "striping_factor only echoed, UFS sets no striping",
        ),
        ("", "striping_factor only echoed, the library sets no striping"),
        ("LUSTRE:", None),
        ("PVFS2: ROMIO driver for PVFS2", None),
    ],
)
def test_an_echo_is_no_evidence(driver: str, told: str | None) -> None:  # ENV-21, GEN-12
    sets = cross({"striping_factor": ("8",), "striping_unit": ("65536",)})
    in_force = {number: {"romio_filesystem_type": driver} for number in range(len(sets))}
    found = measure(sets, {1: 2.0}, lambda: 1.0, in_force)
    text = "\n".join(sweep_lines([found], library="MPICH"))
    assert (found.recommended is found.cells[1]) == (told is None)
    assert plain_swept(found)["sets"][1]["acted"] == (told is None)
    assert ("has not acted" in text) == (told is not None)
    assert (told or "") in text
    # ROMIO aligns the domains of two-phase to the unit on any filesystem
    sets = cross({"striping_unit": ("65536",)})
    assert measure(sets, {1: 2.0}, lambda: 1.0, in_force).cells[1].acted


def test_a_file_that_did_not_act_confirms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # GEN-12
    hints = {"cb_nodes": "4", "romio_cb_write": "enable"}
    pattern = parse_pattern(LARGE, 4)
    found = advised(pattern, hints)
    given = (pattern,), (HintSet(), HintSet(hints)), ("write",), Place(4, tmp_path)
    request = sweep.SweepRequest(*given, confirm=2)  # type: ignore[arg-type]
    in_force = dict(hints)

    def run_job(*given: object) -> dict[str, object]:
        with_file = bool(given[3])
        return {
            "found": [{"rates": [[200.0 if with_file else 100.0]], "in_force": {"0": in_force if with_file else {}}}]
        }

    monkeypatch.setattr(sweep, "run_job", run_job)
    (task,) = request.tasks([[0]])
    (line,) = sweep._confirm(request, task, found, "MPICH 5")
    assert "the hints of the file were in force; with ROMIO_HINTS 2.00 [2.00, 2.00]" in line
    in_force |= {"cb_nodes": "1"}
    del in_force["romio_cb_write"]
    (line,) = sweep._confirm(request, task, found, "MPICH 5")
    assert line.endswith("did not act: cb_nodes=4 asked, 1 in force; romio_cb_write=enable asked, nothing in force")


def test_sets_with_equal_hints_in_force_are_one() -> None:
    found = swept(1.0, 0.001, {2: {"cb_nodes": "1"}})
    assert found.cells[2].same_as == "cb_nodes=1 romio_cb_write=enable"
    text = "\n".join(sweep_lines([found], library="MPICH"))
    assert "cb_nodes=2 asked, 1 in force; the same hints are in force as with cb_nodes=1 romio_cb_write=enable" in text


def test_results_as_plain_data() -> None:
    told = json.loads(json.dumps(plain_swept(swept(1.5, 0.03, {1: {"cb_nodes": "9"}}))))
    assert told["recommended"] == {"romio_cb_write": "disable", "cb_nodes": "1"}
    assert told["sets"][1]["in_force"] == {"other": "x", "cb_nodes": "9", "romio_cb_write": "enable"}
    assert (told["sets"][1]["changed"], told["sets"][1]["acted"]) == ({"cb_nodes": "9"}, False)


def advised(pattern: Pattern, hints: Mapping[str, str]) -> Swept:
    """A sweep whose recommendation is given."""
    one = Estimate(1.0, 1.0, 1.0, 9)
    default, best = Cell(HintSet(), 1.0, one, {}), Cell(HintSet(hints), 2.0, one, hints)
    sure = dataclasses.replace(best, tested=Trial(Estimate(2.0, 1.9, 2.1, 9), 0.001, True))
    return Swept(pattern.name, "write", (default, sure) if hints else (default,))


def hint_file(*found: tuple[str, Mapping[str, str]]) -> tuple[str, HintFile]:
    patterns = [parse_pattern(text, 4) for text, _ in found]
    sweeps = [advised(pattern, hints) for pattern, (_, hints) in zip(patterns, found, strict=True)]
    text = beffio_hints_text(sweeps, {pattern.name: pattern for pattern in patterns})
    return text, parse_hints(text, "made", [4])


SMALL, LARGE = "strided_at_once:1KiB:1MiB:coll", "strided_at_once:32KiB:1MiB:coll"


def test_a_hint_file_of_beffio() -> None:
    text, rules = hint_file((LARGE, {"cb_nodes": "4", "romio_cb_write": "enable"}))
    assert rules.on_open(4, "write", "scatter") == {"cb_nodes": "4"}
    assert {rule.chunk for rule in rules.rules} == {"on_open", "32768"}
    assert "default is best" in hint_file((LARGE, {}))[0]
    text, rules = hint_file((LARGE.replace("coll", "indep"), {"cb_nodes": "4"}))
    assert "no pattern type" in text
    assert not rules.rules
    # a size that b_eff_io has no chunk of says nothing about those that it has
    text, rules = hint_file(("strided_at_once:16KiB:1MiB:coll", {"romio_cb_write": "enable"}))
    assert "no chunk size" in text
    assert not rules.rules


def test_recommendations_that_contradict_each_other() -> None:
    text, rules = hint_file(
        (LARGE, {"cb_nodes": "4", "romio_cb_write": "enable", "cb_buffer_size": "33554432"}),
        (SMALL, {"cb_nodes": "1", "romio_cb_write": "disable", "cb_buffer_size": "1048576"}),
    )
    # what acts at open only is named, what acts on each chunk is not mixed up
    name = "4 for strided_at_once-32KiB-1MiB-coll, 1 for strided_at_once-1KiB-1MiB-coll"
    assert f"# all write scatter on_open cb_nodes: {name}; one of them must be chosen" in text
    assert rules.on_open(4, "write", "scatter") == {"cb_buffer_size": "33554432"}
    told = {(rule.chunk, rule.key): rule.value for rule in rules.rules if rule.chunk != "on_open"}
    assert told == {
        ("32768", "romio_cb_write"): "enable",
        ("32768", "cb_buffer_size"): "33554432",
        ("1024", "romio_cb_write"): "disable",
        ("1024", "cb_buffer_size"): "1048576",
    }
    text, rules = hint_file((LARGE, {"cb_nodes": "4"}), (SMALL, {}))
    assert "4 for strided_at_once-32KiB-1MiB-coll, the default for strided_at_once-1KiB" in text
    assert not rules.rules
    text, rules = hint_file((LARGE, {"romio_cb_write": "enable"}), (LARGE.replace("1MiB", "2MiB"), {}))
    assert "# all write scatter 32768 romio_cb_write: enable for" in text
    assert not rules.rules


def test_types_and_chunks() -> None:
    one = row("s", segmented, 1 * KiB + 8, 4 * (KiB + 8), False, 4)
    assert (type_of(one), chunk_of(one)) == ("segmented", "1032")
    assert type_of(row("s", segmented, KiB, 4 * KiB, True, 4)) == "seg_coll"
    assert chunk_of(row("s", strided, 3 * KiB, 12 * KiB, True, 4)) is None


def test_patterns_of_the_command_line() -> None:
    pattern = parse_pattern("strided_at_once:32KiB:8MiB:coll", 4)
    assert (pattern.name, pattern.coll, pattern.ranks) == ("strided_at_once-32KiB-8MiB-coll", True, 4)
    for wrong in ("strided:32k", "tiles:1k:1M:coll", "strided:x:1M:coll", "strided:32k:1M:both", "strided:3k:1M:coll"):
        with pytest.raises(ParameterError):
            parse_pattern(wrong, 4)


def test_a_set_replaces_the_hints_of_a_row() -> None:
    pattern = dataclasses.replace(parse_pattern(LARGE, 4), hints=Hints({"cb_nodes": "1", "x": "y"}))
    assert relieve(pattern, {"cb_nodes": "2"}).hints.on_open == {"x": "y"}


def test_aggregators_really_vary() -> None:  # ENV-22
    assert MATRICES["romio-write"]["cb_config_list"] == ("*:*",)


TILES = """[[pattern]]
name = "tiles"
layout = { name = "tiles", nx = 3, ny = 1, sx = 4, sy = 4, elem = 4 }
"""
ONE = ["--pattern", LARGE]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--rows", "nofile.toml"], "a TOML file that can be read"),
        (["--rows", "binary.toml"], "a TOML file that can be read"),
        (["--rows", "broken.toml"], "must be TOML"),
        (["--rows", "tiles.toml", "-n", "2"], "3 ranks"),
        ([*ONE, "--hint", "k" * 300 + "=1"], "at most 254 bytes"),
        (["--pattern", "strided:32KiB:1000TiB:coll"], "free"),
        ([*ONE, *ONE], "a name that only one pattern has"),
        ([*ONE, "--rounds", "2"], "3 or more"),
        ([*ONE, "--test-rounds", "0"], "1 or more"),
        ([*ONE, "--timeout", "0"], "a positive number of seconds"),
        ([*ONE, "--dir", "nowhere"], "a directory that can be written to"),
        (["--pattern", "strided:32KiB:1MiB:coll", "-n", "0"], "1 or more"),
    ],
)
def test_wrong_requests_are_refused_before_any_job(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "broken.toml").write_text("x = [")
    (tmp_path / "tiles.toml").write_text(TILES)
    monkeypatch.chdir(tmp_path)
    # a launcher that is not there: no check may come as late as the start of a job
    assert main(["sweep", "--hint", "cb_nodes=1", "--mpiexec", "/no/such/launcher", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert told in lines[0]
