"""What a device can plausibly deliver."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.environment import device_rate
from pytest_pario.environment.context import Context
from pytest_pario.environment.device_rate import MARGIN, PROBE_BYTES, ROTATING_MIB_S, DeviceRate, judge
from pytest_pario.environment.local import MEMORY
from pytest_pario.environment.mount import type_of
from pytest_pario.units import MiB


def test_the_best_pass_with_a_margin_counts() -> None:  # CONS-48
    second = PROBE_BYTES / MiB / 100.0  # 100 MiB/s
    found = judge([2 * second, second, 3 * second], rotates=False)
    assert found.mib_s == pytest.approx(MARGIN * 100.0)
    assert str(found) == "device up to 300 MiB/s: 3 times the 100 MiB/s of a read past the page cache"
    assert judge([second], rotates=None).mib_s == pytest.approx(MARGIN * 100.0)


def test_a_disk_that_rotates_has_an_upper_limit() -> None:  # CONS-42: a virtual disk with a cache behind it
    second = PROBE_BYTES / MiB / 990.0
    found = judge([second], rotates=True)
    assert found.mib_s == ROTATING_MIB_S
    assert "--pario-device-rate" in str(found)
    assert judge([second], rotates=False).mib_s == pytest.approx(MARGIN * 990.0)
    assert judge([second * 10], rotates=True).mib_s == pytest.approx(MARGIN * 99.0)


def test_what_is_not_known_is_said() -> None:
    assert str(DeviceRate(None, "O_DIRECT does not work here")) == "device rate not known: O_DIRECT does not work here"
    assert judge([0.0], rotates=False).mib_s is None


def test_the_probe_reads_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if type_of(Context(tmp_path)) in MEMORY:
        pytest.skip("memory is no device")
    monkeypatch.setattr(device_rate, "PROBE_BYTES", 4 * MiB)
    path = tmp_path / "probe"
    problem = device_rate.write_probe(path)
    if problem:
        pytest.skip(problem)
    assert path.stat().st_size == 4 * MiB
    assert all(device_rate.read_part(path, rank, 3) >= 0 for rank in range(3))
    with pytest.raises(FileExistsError):
        device_rate.write_probe(path)  # never over a file that is there
