"""Values of access methods, partitions and the system from what was measured, each from one job. Pure (BEFF-35..40)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_pario.model import Access
from pytest_pario.workloads.beffio.averages import (
    Average,
    Definition,
    SystemValue,
    access_value,
    partition_value,
    system_value,
)
from pytest_pario.workloads.beffio.results import ONE_JOB, PatternResult, Results


def access_of(results: Results, access: Access, n: int) -> Average:
    """Weighted average of an access method in a partition."""
    average = access_value(access, results.type_values(n))
    return _of_one_job(average, results, lambda one: (one.n, one.access) == (n, access))


def partition_of(results: Results, definition: Definition, n: int) -> Average:
    """Value of a partition by a definition."""
    average = partition_value(definition, results.type_values(n))
    return _of_one_job(average, results, lambda one: one.n == n)


def system_of(results: Results, definition: Definition, partitions: Sequence[int]) -> SystemValue:
    """Value of the system: the maximum over the partitions of one job; a maximum over jobs is for people to take."""
    found = system_value({n: partition_of(results, definition, n) for n in partitions})
    whole = _of_one_job(Average(found.value, found.missing), results, lambda one: one.n in partitions)
    return found if whole.complete else SystemValue(None, None, whole.missing)


def _of_one_job(average: Average, results: Results, counts: Callable[[PatternResult], bool]) -> Average:
    """The average, or none where its parts are of several jobs (BEFF-40)."""
    jobs = {one.run for one in results.patterns if counts(one)}
    return Average(None, (ONE_JOB,)) if average.complete and len(jobs) > 1 else average
