from __future__ import annotations

from pytest_pario.report.operations import OperationRow, format_operations, operation_row


def test_efficiency_is_shown_against_one_client() -> None:
    # CONS-09
    rows = [
        OperationRow("create", 4, (0.02, 0.04, 0.03), (200.0,)),
        OperationRow("create", 1, (0.01,), (100.0,)),
    ]
    lines = format_operations(rows)
    assert lines[0].split()[-5:] == ["median", "min", "max", "operations/s", "efficiency"]
    assert lines[1].split() == ["create", "1", "0.01", "0.01", "0.01", "100", "100%"]
    assert lines[2].split() == ["create", "4", "0.03", "0.02", "0.04", "200", "50%"]


def test_no_efficiency_where_it_means_nothing() -> None:
    alone, shared = OperationRow("cp", 3, (1.0,)), OperationRow("open", 2, (1.0,), (1.0,), together=True)
    assert [line.split()[-1] for line in format_operations([alone, shared])[1:]] == ["1", "1"]


def test_rows_of_benchmark_entries() -> None:
    assert operation_row({"moved_bytes": [1]}, [1.0]) is None
    assert operation_row({"case": "cp", "clients": 3}, [1.0, 2.0]) == OperationRow("cp", 3, (1.0, 2.0))
    info = {"case": "create", "clients": 2, "seconds_per_operation": [0.1], "operations_per_s_max": [20.0]}
    assert operation_row(info, [1.0]) == OperationRow("create", 2, (0.1,), (20.0,))
