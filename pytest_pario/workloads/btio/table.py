"""Parameters of the BTIO suite."""

from __future__ import annotations

from pytest_pario.workloads.kinds import Choice
from pytest_pario.workloads.parameters import Parameter

# fmt: off
BTIO = (
    Parameter("btio_ranks",  Choice(("square", "strict")), "square",
              "square: the largest square number of ranks runs, the others sleep; strict: other numbers are skipped"),
    Parameter("btio_engine", Choice(("auto", "compiled", "numpy")), "auto",
              "what computes the steps of BTIO; auto is the first that works"),
)
# fmt: on
