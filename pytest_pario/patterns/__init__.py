"""Access patterns: layouts, plans, payload stamps and the verifiers; pure functions of numbers, no MPI."""

from pytest_pario.patterns.block3d import Block3D, near_cube
from pytest_pario.patterns.catalogue import LAYOUTS, Scaled, build, find, scaled
from pytest_pario.patterns.cells import Cells
from pytest_pario.patterns.files import Files
from pytest_pario.patterns.memory import count_touched, memory_type
from pytest_pario.patterns.multipartition import Multipartition
from pytest_pario.patterns.partitions import beff_partitions, client_sweep
from pytest_pario.patterns.payload import Payload, make_room, ring_payload, whole_payload
from pytest_pario.patterns.planning import chain, period, plan, views
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.random_sizes import RandomSizes
from pytest_pario.patterns.readback import verify_reads
from pytest_pario.patterns.recipe import Recipe, View
from pytest_pario.patterns.records import verify_records
from pytest_pario.patterns.same import Same
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.serial import pattern_from_json, pattern_from_plain, record_from_plain, to_json
from pytest_pario.patterns.sparse_strided import SparseStrided
from pytest_pario.patterns.stamp import Content, content_of, ring_positions
from pytest_pario.patterns.strided import Strided
from pytest_pario.patterns.tiles import Tiles
from pytest_pario.patterns.toml import patterns_from_toml, patterns_to_toml
from pytest_pario.patterns.verify import merge, verify_file

__all__ = [
    "LAYOUTS",
    "Block3D",
    "Cells",
    "Content",
    "Files",
    "Layout",
    "Multipartition",
    "Payload",
    "RandomSizes",
    "Recipe",
    "Same",
    "Scaled",
    "Scattered",
    "Segmented",
    "SparseStrided",
    "Strided",
    "Tiles",
    "View",
    "beff_partitions",
    "build",
    "chain",
    "client_sweep",
    "content_of",
    "count_touched",
    "find",
    "make_room",
    "memory_type",
    "merge",
    "near_cube",
    "pattern_from_json",
    "pattern_from_plain",
    "patterns_from_toml",
    "patterns_to_toml",
    "period",
    "plan",
    "record_from_plain",
    "ring_payload",
    "ring_positions",
    "scaled",
    "to_json",
    "verify_file",
    "verify_reads",
    "verify_records",
    "views",
    "whole_payload",
]
