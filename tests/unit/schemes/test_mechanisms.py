"""Data shipping, partition maps, directives and guided prefetch as pure functions (GPFS-35..42)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_pario.errors import DirectiveError, ParameterError
from pytest_pario.schemes.directives import Partitioning, partitioning_wanted
from pytest_pario.schemes.partition import PartitionMap, contiguous_domains, default_map
from pytest_pario.schemes.prefetch import FilePrefetcher, covering_ranges, guided_accesses, needs_guidance
from pytest_pario.schemes.ranges import request
from pytest_pario.schemes.shipping import ShippingMode, plan_shipping, ships, stripe_bytes
from pytest_pario.units import KiB, MiB

ranges = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 60)), max_size=6)


def test_stripe() -> None:  # GPFS-35
    assert [stripe_bytes(size) for size in (1, 262_145, 1_000_000, None)] == [256 * KiB, 512 * KiB, MiB, 4 * MiB]
    assert stripe_bytes(None, 512 * KiB) == 8 * MiB
    with pytest.raises(ParameterError, match="IBM_io_buffer_size = 0"):
        stripe_bytes(0)


@given(st.lists(ranges, min_size=1, max_size=5), st.integers(1, 50), st.data())
def test_shipping_keeps_every_byte(asked: list[list[tuple[int, int]]], stripe: int, data: st.DataObject) -> None:
    # GPFS-36, GPFS-37
    agents = data.draw(st.integers(1, len(asked)))
    plan = plan_shipping([request(*one) for one in asked], stripe, agents)
    touched: dict[int, int] = {}
    for agent, (offsets, lengths) in enumerate(plan.ranges):
        assert (np.diff(offsets) > 0).all()
        rounds = list(plan.rounds(agent))
        assert sum(int(sizes.sum()) for _, sizes in rounds) == int(lengths.sum())
        assert all(int(sizes.sum()) <= stripe for _, sizes in rounds)
        for begin, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
            for x in range(begin, begin + length):
                assert touched.setdefault(x, agent) == agent == x // stripe % agents
    assert set(touched) == {x for one in asked for begin, length in one for x in range(begin, begin + length)}
    sizes = [sum(length for _, length in one) for one in asked]
    assert plan.shipped_bytes.sum(axis=1).tolist() == sizes
    assert 0 <= plan.between_ranks <= sum(sizes)


def test_one_rank_ships_nothing() -> None:  # GPFS-37
    assert plan_shipping([request((0, 1000))], 100, 1).between_ranks == 0
    with pytest.raises(ParameterError, match="agents = 3"):
        plan_shipping([request((0, 1000))], 100, 3)


def test_largeblock_switches_shipping_off() -> None:  # GPFS-38
    assert [ships(value) for value in (None, "false", "true")] == [True, True, False]
    with pytest.raises(ParameterError, match="IBM_largeblock_io"):
        ships("yes")


def test_the_stripe_of_an_open_file() -> None:  # GPFS-39
    mode = ShippingMode()
    mode.begin()
    with pytest.raises(DirectiveError, match="1 operations are pending"):
        mode.resize(MiB)
    mode.end()
    assert mode.resize(1_000_000) == MiB
    assert mode.changes == [4 * MiB, MiB]
    with pytest.raises(DirectiveError, match="had not begun"):
        mode.end()


def test_partition_maps() -> None:  # GPFS-40
    blocks = np.arange(12)
    first = PartitionMap(1, (1, 2, 3, 3, 4, 5, 6, 7, 8, 8))
    assert first.server_of(blocks).tolist() == [1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 1, 2]
    second = PartitionMap(1, (4, 3, 3, 4), run=6).server_of(np.arange(30)).tolist()
    assert second == [4] * 6 + [3] * 12 + [4] * 6 + [4] * 6
    assert default_map(1, 5).server_of(blocks).tolist() == [block % 5 for block in range(12)]
    with pytest.raises(ParameterError, match=r"partition\.servers"):
        PartitionMap(1, ())


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 7), ranges)
def test_a_map_cuts_and_counts(unit: int, run: int, servers: int, asked: list[tuple[int, int]]) -> None:  # GPFS-40
    mapped, one = PartitionMap(unit, tuple(range(servers)), run), request(*asked)
    pieces = mapped.cut(one.offsets, one.lengths)
    assert pieces.lengths.sum() == one.lengths.sum()
    assert (pieces.offsets // unit == pieces.blocks).all()
    assert ((pieces.offsets + pieces.lengths - 1) // unit == pieces.blocks).all()
    # turn and server name a block: no two blocks have the same
    blocks = np.arange(3 * run * servers)
    both = set(zip(mapped.server_of(blocks).tolist(), mapped.turn_of(blocks).tolist(), strict=True))
    assert len(both) == blocks.size


@given(st.integers(0, 500), st.integers(1, 5000), st.integers(1, 7), st.integers(1, 300), st.sampled_from([1, 8, 64]))
def test_domains_are_contiguous(first: int, span: int, agents: int, buffer: int, align: int) -> None:
    mapped = contiguous_domains(first, first + span, range(agents), buffer, align)
    blocks = (np.arange(first, first + span) - mapped.base) // mapped.unit
    owners = mapped.server_of(blocks)
    assert (np.diff(owners) >= 0).all()
    assert mapped.unit <= -(-buffer // align) * align
    assert (np.diff(mapped.turn_of(blocks))[np.diff(owners) == 0] >= 0).all()


def started(tasks: int = 3) -> Partitioning:
    made = Partitioning(unit=4)
    for task in range(tasks):
        assert made.mode in ("locking", "starting")
        made.start(task, tasks)
    return made


def test_directives() -> None:  # GPFS-41
    file = started()
    assert str(file.mode) == "partitioned"
    assert file.map == default_map(4, 3)
    file.set_map(0, 2, (1, 0, 2))
    assert file.map is not None
    assert file.map.server_of(np.arange(8)).tolist() == [1, 1, 0, 0, 2, 2, 1, 1]
    with pytest.raises(DirectiveError, match="exclude each other"):
        file.lock(1)
    file.restart(8)
    assert (file.restarts, file.unit, file.map) == (1, 8, default_map(8, 3))
    file.stop(0)
    file.stop(1)
    assert str(file.mode) == "stopping"
    with pytest.raises(DirectiveError, match="task 0 cannot stop"):
        file.stop(0)
    file.close(2)  # discouraged: a stop is issued
    assert (file.map is None, file.unstopped) == (True, [2])
    file.lock(0)
    with pytest.raises(DirectiveError, match=r"tasks \[0\] hold locks"):
        file.start(1, 3)
    file.unlock(0)
    with pytest.raises(DirectiveError, match="does not hold"):
        file.unlock(0)


def test_a_changed_buffer_size_begins_a_partitioning_anew() -> None:  # GPFS-39, GPFS-41
    file = Partitioning(unit=1)
    mode = ShippingMode(block=4, stripe=8, partitioning=file)
    assert (file.unit, file.restarts) == (8, 0)  # not begun: it will take these blocks
    for task in range(3):
        file.start(task, 3)
    assert mode.resize(13) == 16
    assert (file.map, file.restarts) == (default_map(16, 3), 1)
    mode.resize(16)  # the same blocks: nothing begins anew
    mode.begin()
    with pytest.raises(DirectiveError, match="pending"):
        mode.resize(40)
    mode.end()
    file.stop(0)
    with pytest.raises(DirectiveError, match="stopping cannot be restarted"):
        mode.resize(40)
    assert (mode.stripe, mode.changes, file.restarts) == (16, [8, 16, 16], 1)


def test_directives_are_never_ignored() -> None:  # GPFS-41
    file = Partitioning(unit=4)
    with pytest.raises(DirectiveError, match="cannot map"):
        file.set_map(0, 1, (0,))
    with pytest.raises(DirectiveError, match="cannot be restarted"):
        file.restart(8)
    file.start(0, 2)
    with pytest.raises(DirectiveError, match="starts twice"):
        file.start(0, 2)
    with pytest.raises(DirectiveError, match="starts with 3 tasks, others with 2"):
        file.start(1, 3)
    with pytest.raises(ParameterError, match="start = "):
        file.start(5, 3)
    file.close(0)
    assert file.mode == "locking"
    with pytest.raises(ParameterError, match=r"map\.servers"):
        started(2).set_map(0, 1, (0, 2))
    with pytest.raises(DirectiveError, match="already partitioned"):
        started(2).start(0, 2)


def test_when_a_file_is_partitioned() -> None:  # GPFS-41
    wanted = [partitioning_wanted(unique, value) for unique in (True, False) for value in (None, "false", "true")]
    assert wanted == [True, True, False, False, False, False]


@given(
    st.lists(st.tuples(st.sampled_from(["start", "stop", "lock", "unlock", "close"]), st.integers(0, 2)), max_size=30)
)
def test_locks_and_partitions_exclude_each_other(steps: list[tuple[str, int]]) -> None:  # GPFS-41
    file = Partitioning(unit=4)
    for action, task in steps:
        try:
            if action == "start":
                file.start(task, 3)
            else:
                getattr(file, action)(task)
        except DirectiveError:
            continue
        assert not (file._locks and file.mode in ("partitioned", "stopping"))
        assert (file.map is not None) == (file.mode in ("partitioned", "stopping"))


def test_guidance_only_where_it_helps() -> None:  # GPFS-42
    one, regular = np.array([5]), np.array([0, 10, 20])
    assert not needs_guidance(one, np.array([7]))
    assert not needs_guidance(regular, np.array([3, 3, 3]))
    assert needs_guidance(regular, np.array([3, 4, 3]))
    assert needs_guidance(np.array([0, 10, 25]), np.array([3, 3, 3]))
    covered = covering_ranges(np.array([1, 6, 22, 38]), np.array([2, 3, 1, 5]), 10)
    assert covered == [(1, 8), (22, 1), (38, 2), (40, 3)]


@given(st.integers(0, 40), st.integers(1, 8), st.integers(0, 12), st.data())
def test_guided_accesses(count: int, max_pre: int, limit: int, data: st.DataObject) -> None:  # GPFS-42
    max_acc = data.draw(st.integers(1, max_pre))
    ranges = [(block * 256, 4) for block in range(count)]
    server = FilePrefetcher(limit, longest=max_pre)
    assert list(guided_accesses(ranges, server, max_pre, max_acc)) == ranges
    assert server.most <= min(max_pre, limit)
    assert server.outstanding == []


def test_a_leak_ends_all_grants() -> None:  # GPFS-42
    server = FilePrefetcher(limit=3)
    assert server.hint([(0, 1), (1, 1)], []) == 2
    assert server.hint([(2, 1), (3, 1)], []) == 1
    assert server.hint([(4, 1)], []) == 0
    # even then everything is accessed
    assert list(guided_accesses([(9, 1), (8, 1)], server, 2, 2)) == [(9, 1), (8, 1)]
    with pytest.raises(ParameterError, match="at most 16 ranges"):
        server.hint([(n, 1) for n in range(17)], [])
    with pytest.raises(ParameterError, match="max_acc"):
        list(guided_accesses([(0, 1)], server, 1, 2))
