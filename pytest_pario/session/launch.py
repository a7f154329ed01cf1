"""What the environment says about the launcher, before any MPI call."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

# (rank variable, size variable, launcher); the first pair that is set wins. Slurm comes last: it also sets its
# variables around an mpiexec that runs inside an allocation.
VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_RANK", "PMI_SIZE", "PMI"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI"),
    ("PALS_RANKID", "PALS_SIZE", "PALS"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE", "Flux"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"),
)

PREFIXES = ("OMPI_", "PMI_", "PMIX_", "PALS_", "FLUX_TASK", "SLURM_PROCID", "SLURM_STEP")

INHERITED = "PARIO_LAUNCH"
"""Set by a rank for its children, so that a pytest started inside a test does not take itself for a rank."""


@dataclass(frozen=True)
class Launch:
    """Place of this process in a job."""

    rank: int
    """Rank as the launcher numbers it; equals the rank in MPI_COMM_WORLD."""
    size: int
    """Number of ranks that the launcher started."""
    launcher: str
    """Which family of variables told us."""


def detect_launch(environment: Mapping[str, str]) -> Launch | None:
    """Return this process's place in a job, or None where no launcher started it."""
    if environment.get(INHERITED) == launch_key(environment):
        return None
    for rank_name, size_name, launcher in VARIABLES:
        rank, size = environment.get(rank_name, ""), environment.get(size_name, "")
        if rank.isdigit() and size.isdigit():
            return Launch(int(rank), int(size), launcher)
    return None


def launch_key(environment: Mapping[str, str]) -> str:
    """Digest of the launcher's variables: equal in a rank and in the children that inherit them."""
    told = sorted((name, value) for name, value in environment.items() if name.startswith(PREFIXES))
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
