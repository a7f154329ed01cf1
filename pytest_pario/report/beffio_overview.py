"""A run of b_eff_io as plain data: values, tables, settings and criteria, complete or not. Pure (BEFF-41, BEFF-62)."""

from __future__ import annotations

import dataclasses
from typing import Any

from pytest_pario.report.beffio import Run, table_values
from pytest_pario.workloads.beffio.averages import ACCESSES, DEFINITIONS
from pytest_pario.workloads.beffio.validity import is_valid
from pytest_pario.workloads.beffio.values import partition_of, system_of


def partition_facts(run: Run, n: int) -> dict[str, Any]:
    """Tables of a partition and its value by each definition that the data suffice for."""
    results = run.results
    return {
        "by_definition": {one: partition_of(results, one, n).value for one in DEFINITIONS},
        "tables": {access: table_values(results, n, access) for access in ACCESSES},
    }


def system_facts(run: Run) -> dict[str, Any]:
    """The value by each definition, what the run was and was asked for, and how it stands to the rules of validity."""
    found, partitions = run.criteria, run.settings.partitions
    return {
        "by_definition": {one: system_of(run.results, one, partitions).value for one in DEFINITIONS},
        "header": {name: str(value) for name, value in run.header.items()},
        "settings": run.settings.plain(),
        "criteria": [dataclasses.asdict(one) for one in found],
        "valid": is_valid(found),
    }


def overview(run: Run) -> dict[str, Any]:
    """Everything that the summary shows; a value that is incomplete is None, with the list of what is missing."""
    s = run.settings
    system = system_of(run.results, s.definition, s.partitions)
    partitions = {}
    for n in s.partitions:
        average = partition_of(run.results, s.definition, n)
        partitions[str(n)] = {
            "value_mb_s": average.value,
            "missing": list(average.missing),
            **partition_facts(run, n),
        }
    return {
        "definition": s.definition,
        "release": run.header.get("release"),
        "T": s.total_s,
        "value_mb_s": system.value,
        "n": system.partition,
        "missing": list(system.missing),
        "partitions": partitions,
        **system_facts(run),
    }
