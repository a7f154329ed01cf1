"""Parameters of how patterns are run, whatever the suite."""

from __future__ import annotations

from pytest_pario.workloads.kinds import Flag
from pytest_pario.workloads.parameters import Parameter

PARAMETERS = (Parameter("intra_barriers", Flag(), False, "non-zero: barriers between open, I/O and close (CONS-25)"),)
