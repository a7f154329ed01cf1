from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.errors import HintValueError, ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns.rows import row, segmented, strided
from pytest_pario.report.sweep import beffio_hints_text, chunk_of, romio_hints_text, sweep_lines, type_of
from pytest_pario.session.sweep import parse_pattern
from pytest_pario.units import KiB, MiB
from pytest_pario.workloads.beffio.hintfile import parse_hints
from pytest_pario.workloads.sweep.analysis import Swept, analyse, interval, paired_ratios
from pytest_pario.workloads.sweep.matrix import MATRICES, HintSet, cross, order_of, parse_matrix


def test_matrices_are_crossed() -> None:  # GPFS-04, GPFS-38
    sets = cross(parse_matrix(["cb_nodes=1,2", "romio_cb_write=enable,disable,automatic"]))
    assert sets[0] == HintSet()
    assert sets[0].name == "default"
    assert len(sets) == 7
    assert sets[1].name == "cb_nodes=1 romio_cb_write=enable"
    assert parse_matrix(["cb_nodes=8"], "romio-write")["cb_nodes"] == ("8",)
    assert {"IBM_largeblock_io", "IBM_io_buffer_size"} < set(MATRICES["ibm"])
    assert all(len(cross(matrix)) > 1 for matrix in MATRICES.values())


@pytest.mark.parametrize(
    ("words", "ready", "told"),
    [([], None, "at least once"), (["x"], None, "key=value"), (["x="], None, "key=value"), ([], "fast", "romio-write")],
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
    """A nominal 90 % interval holds the true ratio about that often."""
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(400):
        ratios = np.exp(rng.normal(np.log(1.2), 0.1, 15))
        _, low, high = interval(ratios.tolist(), seed=trial)
        hits += low <= 1.2 <= high
    assert 0.86 <= hits / 400 <= 0.98


def swept(gain: float, noise: float, told: dict[int, dict[str, object]] | None = None, seed: int = 5) -> Swept:
    sets = cross({"romio_cb_write": ("enable", "disable"), "cb_nodes": ("1", "2")})
    plans = order_of(len(sets), 9)
    rng = np.random.default_rng(seed)
    speeds = [1.0, 1.0, 1.0, gain, 1.0]
    rates = [[float(100 * speeds[k] * np.exp(rng.normal(0, noise))) for k in plan] for plan in plans]
    facts = [{"in_force": {"set": str(k)}, "dropped": [], **(told or {}).get(k, {})} for k in range(len(sets))]
    return analyse("strided-32k", "write", sets, plans=plans, rates=rates, told=facts)


def test_a_gain_is_recommended() -> None:
    found = swept(1.5, 0.03)
    assert found.recommended.hints.hints == {"romio_cb_write": "disable", "cb_nodes": "1"}
    assert found.recommended.low < 1.5 < found.recommended.high * 1.05
    text = "\n".join(sweep_lines([found], rounds=9, library="MPICH"))
    assert "recommended: cb_nodes=1 romio_cb_write=disable (1." in text
    assert romio_hints_text(found) == "cb_nodes 1\nromio_cb_write disable\n"


def test_noise_is_not() -> None:
    wrong = sum(swept(1.0, 0.2, seed=seed).recommended.hints.hints != {} for seed in range(40))
    assert wrong <= 4
    text = "\n".join(sweep_lines([swept(1.0, 0.01)], rounds=9, library="MPICH"))
    assert "recommended: the default, no set surely gains" in text
    assert romio_hints_text(swept(1.0, 0.01)) == ""


def test_what_did_not_act_is_not_presented_as_if_it_had() -> None:  # GPFS-43
    dropped = swept(3.0, 0.01, {3: {"dropped": ["cb_nodes"]}})
    assert dropped.recommended is dropped.cells[0]
    text = "\n".join(sweep_lines([dropped], rounds=9, library="MPICH"))
    assert "has not acted: the library dropped cb_nodes" in text
    same = swept(3.0, 0.01, {3: {"in_force": {"set": "0"}}})
    assert same.cells[3].as_default
    assert same.recommended is same.cells[0]


def test_a_hint_file_of_beffio() -> None:
    pattern = row("strided-32k", strided, 32 * KiB, 8 * MiB, True, 4)
    text = beffio_hints_text([swept(1.5, 0.03)], {"strided-32k": pattern})
    rules = parse_hints(text, "made", [4])
    assert rules.on_open(4, "write", "scatter") == {"cb_nodes": "1"}
    assert {rule.chunk for rule in rules.rules} == {"on_open", "32768"}
    assert "default is best" in beffio_hints_text([swept(1.0, 0.01)], {"strided-32k": pattern})
    tiles = Pattern("x", pattern.layout, False)
    assert "no pattern type" in beffio_hints_text([swept(1.5, 0.03)], {"strided-32k": tiles})


def test_types_and_chunks() -> None:
    one = row("s", segmented, 1 * KiB + 8, 4 * (KiB + 8), False, 4)
    assert (type_of(one), chunk_of(one)) == ("segmented", "1032")
    assert type_of(row("s", segmented, KiB, 4 * KiB, True, 4)) == "seg_coll"
    assert chunk_of(row("s", strided, 3 * KiB, 12 * KiB, True, 4)) == "all"


def test_patterns_of_the_command_line() -> None:
    pattern = parse_pattern("strided_at_once:32KiB:8MiB:coll", 4)
    assert (pattern.name, pattern.coll, pattern.ranks) == ("strided_at_once-32KiB-coll", True, 4)
    for wrong in ("strided:32k", "tiles:1k:1M:coll", "strided:x:1M:coll", "strided:32k:1M:both", "strided:3k:1M:coll"):
        with pytest.raises(ParameterError):
            parse_pattern(wrong, 4)
