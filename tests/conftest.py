"""What all tests need of their surroundings; jobs that they start inherit it."""

from __future__ import annotations

import os

# Most jobs have more ranks than this machine has cores: with this, ranks of MPICH that wait leave theirs.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
# At the end of every session this plugin imports all of hypothesis: half a second on each rank of each job.
os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:hypothesispytest".strip()
