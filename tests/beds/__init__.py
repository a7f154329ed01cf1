"""Test beds: faults, emulated nodes, a real distributed filesystem and a real batch system on one machine."""
