"""The parameters of all suites in one table: what `--pario-param` takes."""

from __future__ import annotations

from pytest_pario.workloads.beffio.settings import PARAMETERS as BEFFIO
from pytest_pario.workloads.btio.table import BTIO
from pytest_pario.workloads.consortium.table import ROWS as CONSORTIUM
from pytest_pario.workloads.gpfs.parameters import PARAMETERS as GPFS
from pytest_pario.workloads.parameters import Table
from pytest_pario.workloads.resonance.parameters import PARAMETERS as RESONANCE
from pytest_pario.workloads.running import PARAMETERS as RUNNING

TABLE = Table((*CONSORTIUM, *BEFFIO, *BTIO, *GPFS, *RESONANCE, *RUNNING))
