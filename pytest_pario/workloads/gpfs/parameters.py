"""Parameters of the suite."""

from __future__ import annotations

from pytest_pario.workloads.kinds import Whole
from pytest_pario.workloads.parameters import Parameter

PARAMETERS = (
    Parameter("gpfs_drop", Whole(0, 6), 0, "lowest replications of each test to leave out; they are reported"),
    Parameter("gpfs_replications", Whole(1, 100), None, "how often each test is repeated (default by profile)"),
)
