"""Hooks that a site may implement in its conftest.py."""

from __future__ import annotations

from collections.abc import Mapping

import pytest


@pytest.hookspec
def pytest_pario_facts(config: pytest.Config, directory: str) -> Mapping[str, object]:
    """Facts that only the site knows, such as the version of its servers; kept with every record as `site.<name>`.

    Values are plain JSON data. Called on root, once for each directory under test.
    """
    return {}
