from __future__ import annotations

import dataclasses
import itertools
import time

import pytest

from pytest_pario.fixtures.beffio_progress import ProgressLine
from pytest_pario.workloads.beffio.progress import SMALL, Progress
from pytest_pario.workloads.beffio.results import PatternResult
from pytest_pario.workloads.beffio.schedule import Step, order
from tests.unit.workloads.beffio.test_results import result

WHOLE = order([2], "2.0", "type0")
UNIT_S = 60 / 150
WRITTEN = 22 + 12 + 10


def by_id(steps: tuple[Step, ...], name: str) -> Step:
    return next(step for step in steps if step.id == name)


def at_rate(number: int, mb_s: float) -> PatternResult:
    return dataclasses.replace(result(number), moved_bytes=int(2e6 * mb_s))


def test_a_whole_run() -> None:
    progress = Progress(WHOLE, UNIT_S)
    assert progress.done(WHOLE[0]) == 0
    assert [progress.done(step) for step in WHOLE] == sorted({progress.done(step) for step in WHOLE})
    assert progress.done(WHOLE[-1]) == pytest.approx(1, abs=0.001)
    # T is for all access methods; what time drives is the writing of types 0 to 2
    assert progress.scheduled_s(WHOLE[0]) == pytest.approx((0, WRITTEN * UNIT_S))
    used, total = progress.scheduled_s(WHOLE[-1])
    assert used == total


def test_only_what_was_selected_counts() -> None:
    chosen = tuple(step for step in WHOLE if step.row.kind == "scatter" and step.row.label != "MPART")
    progress = Progress(chosen, UNIT_S)
    rewriting = by_id(chosen, "n2-rewrite-scatter-p00-1M")
    assert progress.done(rewriting) == pytest.approx(1 / 3)
    assert progress.scheduled_s(rewriting) == pytest.approx((18 * UNIT_S, 18 * UNIT_S))
    second = progress.done(chosen[1])
    assert second == pytest.approx(SMALL / (3 * (18 + SMALL)))


def test_the_end_is_reckoned_from_where_the_run_began() -> None:
    chosen = tuple(step for step in WHOLE if step.row.kind == "separated")
    progress = Progress(chosen, UNIT_S)
    first, reading = chosen[0], by_id(chosen, "n2-read-separated-p17-1M")
    assert progress.rest_s(first, first, 0.0) is None
    assert progress.rest_s(reading, first, 30.0) == pytest.approx(30.0)
    # a resumed run has the first half behind it: nothing is known of its own speed yet
    assert progress.rest_s(reading, reading, 5.0) is None


def test_the_line() -> None:
    chosen = tuple(step for step in WHOLE if step.row.kind == "separated" and step.row.label in ("1k", "32k"))
    line, now = ProgressLine(Progress(chosen, UNIT_S)), time.mktime((2026, 1, 2, 3, 12, 30, 0, 0, -1))
    told = line.text(chosen[0], None, 100.0, now)
    assert told == "b_eff_io n=2 write separated 32k: 0% done, 0.0 of 0.8 s scheduled"
    # the rate is that of the pattern before, and says so
    after = line.text(chosen[1], at_rate(20, 812.34), 105.0, now)
    assert after.startswith(
        "b_eff_io n=2 write separated 1k: 25% done, 0.4 of 0.8 s scheduled, last: p20 32k 812.3 MB/s,"
    )
    assert line.text(chosen[2], at_rate(21, 1.0), 110.0, now) == (
        "b_eff_io n=2 read separated 32k: 50% done, 0.8 of 0.8 s scheduled, "
        "last: n=2 write p21 1k 1.0 MB/s, ends about 03:12:40"
    )
    reads = tuple(step for step in chosen if step.access == "read")
    assert "scheduled" not in ProgressLine(Progress(reads, UNIT_S)).text(reads[0], None, 0.0, now)


def test_a_log_has_a_line_for_each_type_that_lasts() -> None:
    chosen = tuple(step for step in order([1, 2], "2.0", "type0") if step.row.type in (0, 4))
    line = ProgressLine(Progress(chosen, UNIT_S))
    told = [step.id for number, step in enumerate(chosen) if line.is_due(step, 11.0 * number)]
    kinds = {"write": ("scatter-p00-1M", "seg_coll-p34-1M"), "rewrite": ("scatter-p00-1M",)}
    kinds["read"] = kinds["write"]
    assert told == [f"n{n}-{access}-{kind}" for access in kinds for n in (1, 2) for kind in kinds[access]]
    # types of a second each: a line every ten seconds
    line = ProgressLine(Progress(chosen, UNIT_S))
    due = [number for number, step in enumerate(chosen) if line.is_due(step, number / 9)]
    assert len(due) < len(told) / 2
    assert all(b - a >= 90 for a, b in itertools.pairwise(due))
