"""Where the session's objects are kept on pytest's config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_pario.options import Options

if TYPE_CHECKING:
    from pytest_pario.session.ranked import RankedSession

OPTIONS = pytest.StashKey[Options]()
SESSION: pytest.StashKey[RankedSession] = pytest.StashKey()
WITHOUT_MPI = pytest.StashKey[str]()
"""Why there is no MPI although it was asked for."""
