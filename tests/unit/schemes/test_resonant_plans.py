"""Agents and timed groups: worked examples, and what every plan must keep."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents
from pytest_pario.patterns import Segmented, Strided
from pytest_pario.patterns.striping import count_discontinuities, locate
from pytest_pario.schemes.agents import LIST_LIMIT, choose_agents, choose_groups, plan_agents, share_table
from pytest_pario.schemes.partition import GroupMap
from pytest_pario.schemes.ranges import call_of, request, union_of
from pytest_pario.schemes.resonance import find_peak, peak_segment, resonates
from pytest_pario.schemes.timed import (
    is_ordered,
    require_delay,
    shares_within_groups,
    timed_sets,
    turn_by,
    turn_in,
    turn_of,
)
from pytest_pario.units import KiB

UNIT, NODES = 64 * KiB, 4


def demo(n: int, segment_kib: int) -> list[Extents]:
    """One call of the demonstration program (RES-04)."""
    layout = Strided(segment_kib * KiB, per_call=4)
    return [call_of(layout.calls(rank, n), 0) for rank in range(n)]


@pytest.mark.parametrize(
    ("n", "segment", "disjoint", "busy", "full"),
    [
        (2, 32, False, 1, False),
        (2, 64, True, 2, False),
        (2, 128, True, 4, True),
        (2, 256, False, 4, False),
        (4, 32, False, 2, False),
        (4, 64, True, 4, True),
        (4, 128, False, 4, False),
        (4, 1024, False, 4, False),
    ],
)
def test_resonance_condition(n: int, segment: int, disjoint: bool, busy: int, full: bool) -> None:
    # RES-08, RES-09, RES-10
    found = resonates(n, segment * KiB, UNIT, NODES)
    assert (found.disjoint, found.full) == (disjoint, full)
    if disjoint:
        assert found.busy_nodes == busy
    if full:
        assert peak_segment(n, UNIT, NODES) == segment * KiB


@pytest.mark.parametrize(
    ("n", "segment", "agents", "second_kib"),
    [
        (4, 32, [0, 2, 1, 3], 64),
        (4, 64, [0, 1, 2, 3], 0),
        (4, 128, [0, 2, 1, 3], 256),
        (2, 32, [0, 0, 1, 1], 64),
        (2, 64, [0, 1, 0, 1], 0),
        (2, 128, [0, 0, 1, 1], 0),
        (2, 256, [0, 0, 1, 1], 512),
    ],
)
def test_worked_agents(n: int, segment: int, agents: list[int], second_kib: int) -> None:
    # RES-14, RES-15, RES-16
    plan = plan_agents(demo(n, segment), UNIT, NODES)
    assert list(plan.agents) == agents
    assert plan.second_bytes == (second_kib * KiB,) * n


def sets_of(requests: list[Extents]) -> list[list[list[int]]]:
    found = timed_sets(share_table(requests, UNIT, NODES))
    return [[list(group) for group in one.groups] for one in found]


def test_worked_timed_plans() -> None:  # RES-20, RES-22, RES-24
    def segments(n: int, size: int) -> list[Extents]:
        return [request((rank * size, size)) for rank in range(n)]

    assert sets_of(segments(4, 64 * KiB)) == [[[0]], [[1]], [[2]], [[3]]]
    assert sets_of(segments(4, 96 * KiB)) == [[[0, 1, 2, 3]]]
    assert sets_of(segments(8, 64 * KiB)) == [[[0], [4]], [[1], [5]], [[2], [6]], [[3], [7]]]
    quarter = Segmented(1 << 20, (32 * KiB,))
    assert sets_of([quarter.calls(rank, 4) for rank in range(4)]) == [[[0], [1], [2], [3]]]


def test_turns_follow_the_groups() -> None:  # RES-20, RES-22
    sets = timed_sets(share_table([request((rank * 64 * KiB, 64 * KiB)) for rank in range(8)], UNIT, NODES))
    assert turn_of(1, sets).before == ()
    assert (turn_of(1, sets).after, turn_of(5, sets).before, turn_of(5, sets).position) == ((5,), (1,), 1)
    assert turn_of(9, sets) == turn_of(10, sets)


def test_the_condition_skips_those_without_a_request() -> None:  # RES-13
    assert is_ordered([0, 0, 10], [10, 0, 20])
    assert not is_ordered([0, 5], [10, 20])
    assert is_ordered([], [])


def test_delays_are_checked() -> None:  # RES-21
    assert require_delay(0) == 0
    assert require_delay(0.5e-3) == 0.5e-3
    with pytest.raises(ParameterError, match=r"delay_s = 0\.002"):
        require_delay(2e-3)


def test_merging_before_the_limit() -> None:  # RES-17, RES-27: 16 KiB columns, 16 MiB per call
    layout = Strided(16 * KiB, per_call=256)
    requests = [layout.calls(rank, 4) for rank in range(4)]
    merged, unmerged = plan_agents(requests, UNIT, NODES), plan_agents(requests, UNIT, NODES, merge=False)
    assert [len(merged.lists(node)) for node in range(4)] == [1] * 4
    assert [len(unmerged.lists(node)) for node in range(4)] == [4] * 4
    assert merged.segments[0][0].size == 64
    assert unmerged.segments[0][0].size == 256


ranges = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=6)


@given(st.lists(ranges, min_size=1, max_size=6), st.integers(1, 40), st.integers(1, 7), st.booleans())
def test_plans_keep_every_byte(asked: list[list[tuple[int, int]]], unit: int, nodes: int, merge: bool) -> None:
    # RES-25: union of access sets = union of requests, ascending, at most 64 in a list
    requests = [request(*one) for one in asked]
    plan = plan_agents(requests, unit, nodes, merge)
    offsets = np.concatenate([segments[0] for segments in plan.segments])
    lengths = np.concatenate([segments[1] for segments in plan.segments])
    wanted = {x for one in asked for begin, length in one for x in range(begin, begin + length)}
    found = [x for begin, length in zip(offsets, lengths, strict=True) for x in range(begin, begin + length)]
    assert len(found) == len(set(found))
    assert set(found) == wanted
    for node, (begins, sizes) in enumerate(plan.segments):
        assert all(low < high for low, high in pairwise(begins.tolist()))
        assert (locate(begins, unit, nodes)[0] == node).all()
        assert (begins // unit == (begins + sizes - 1) // unit).all()
        assert all(part[0].size <= LIST_LIMIT for part in plan.lists(node))
        assert (plan.agents[node] is None) == (begins.size == 0)


@given(st.lists(ranges, min_size=1, max_size=6), st.integers(1, 40), st.integers(1, 9))
def test_roles_are_spread(asked: list[list[tuple[int, int]]], unit: int, nodes: int) -> None:  # RES-14, RES-15
    shares = share_table([request(*one) for one in asked], unit, nodes)
    agents = [agent for agent in choose_agents(shares) if agent is not None]
    active = int((shares.sum(axis=0) > 0).sum())
    assert len(agents) == active
    most = -(-active // len(asked)) if active else 0
    assert all(agents.count(agent) <= most for agent in agents)


@given(st.lists(ranges, min_size=1, max_size=8), st.integers(1, 40), st.integers(1, 9))
def test_sets_share_no_node(asked: list[list[tuple[int, int]]], unit: int, nodes: int) -> None:  # RES-20, RES-22
    shares = share_table([request(*one) for one in asked], unit, nodes)
    sets = timed_sets(shares)
    used = [set(np.flatnonzero(shares[list(one.ranks)].sum(axis=0)).tolist()) for one in sets]
    assert sum(map(len, used)) == len(set().union(*used)) if used else True
    members = [rank for one in sets for group in one.groups for rank in group]
    assert sorted(members) == [rank for rank in range(len(asked)) if shares[rank].any()]


@given(st.lists(ranges, min_size=1, max_size=5), st.integers(1, 40), st.integers(1, 7))
def test_agents_arrive_in_order(asked: list[list[tuple[int, int]]], unit: int, nodes: int) -> None:
    # RES-28: what reaches a node in one call ascends; it breaks only where nobody asked for the bytes between
    plan = plan_agents([request(*one) for one in asked], unit, nodes)
    for begins, sizes in plan.segments:
        _, local = locate(begins, unit, nodes)
        assert all(low < high for low, high in pairwise(local.tolist()))
        breaks = int((local[1:] != (local + sizes)[:-1]).sum())
        assert count_discontinuities(begins, sizes, unit, nodes).sum() == breaks


def test_no_agent_seeks_in_a_dense_call() -> None:  # RES-28: all segments adjacent on the node
    plan = plan_agents(demo(4, 32), UNIT, NODES)
    for begins, sizes in plan.segments:
        assert count_discontinuities(begins, sizes, UNIT, NODES).sum() == 0


def test_a_peak_is_found() -> None:  # RES-41
    rates = {32: 70.0, 64: 179.0, 128: 50.0, 256: 54.0, 512: 82.0}
    peak = find_peak(4, {size: (rate, 1.1 * rate) for size, rate in rates.items()})
    assert peak is not None
    assert (peak.segment, peak.stripe_bytes, peak.is_peak) == (64, 256, True)
    assert find_peak(4, {1: (1.0,), 2: (2.0,), 4: (3.0,)}) is None
    assert find_peak(4, {1: (1.0,)}) is None
    # not by enough, by one round only, or not in every round
    for best in ((101.0, 101.5), (179.0,), (90.0, 179.0)):
        found = find_peak(4, {1: (100.0, 100.0), 2: best, 4: (100.0, 100.0)})
        assert found is not None
        assert not found.is_peak


def test_processes_that_share_a_node_in_a_group_follow_each_other_there() -> None:  # RES-28, RES-22
    uses = share_table([request((rank * 96 * KiB, 96 * KiB)) for rank in range(4)], UNIT, NODES)
    assert shares_within_groups(timed_sets(uses), uses)
    assert [turn_by("nodes", rank, uses).before for rank in range(4)] == [(), (0,), (0,), (1, 2)]
    # group for group all four send at once; rank for rank each waits for the one before
    assert all(turn_by("groups", rank, uses).before == () for rank in range(4))
    assert [turn_by("ranks", rank, uses).before for rank in range(4)] == [(), (0,), (1,), (2,)]
    aligned = share_table([request((rank * UNIT, UNIT)) for rank in range(8)], UNIT, NODES)
    assert not shares_within_groups(timed_sets(aligned), aligned)


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="segment = 0"):
        resonates(4, 0, UNIT, NODES)
    with pytest.raises(ParameterError, match="requests"):
        plan_agents([], UNIT, NODES)


def test_union_of_nothing() -> None:
    assert union_of([])[0].size == 0


@given(st.lists(ranges, min_size=1, max_size=6), st.integers(1, 40), st.integers(1, 6), st.integers(1, 4))
def test_several_agents_of_a_node(asked: list[list[tuple[int, int]]], unit: int, nodes: int, per_node: int) -> None:
    # RES-23: as many as asked for, each with one contiguous part, one after the other in order of rank
    shares = share_table([request(*one) for one in asked], unit, nodes)
    groups = choose_groups(shares, per_node)
    for node, group in enumerate(groups):
        assert len(group) == (min(per_node, len(asked)) if shares[:, node].any() else 0)
        assert list(group) == sorted(set(group))
    for rank in range(len(asked)):
        turn = turn_in(rank, groups)
        assert all(other < rank for other in turn.before)
        assert all(rank in turn_in(other, groups).before for other in turn.after)
    if per_node == 1 or not any(groups):
        return
    filled = tuple(group or (0,) * max(map(len, groups)) for group in groups)
    parts = GroupMap(unit, tuple(group[0] for group in filled), groups=filled, first_turn=2, turns=7)
    for node, group in enumerate(filled):
        served = parts.server_of(np.arange(2, 9) * nodes + node).tolist()
        assert set(served) <= set(group)
        assert [group.index(agent) for agent in served] == sorted(group.index(agent) for agent in served)
