"""Extents on striped storage: which I/O node holds which byte, and how often its disk has to seek (RES-01, RES-28)."""

from __future__ import annotations

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.pieces import split


def locate(offsets: Int64, unit: int, nodes: int) -> tuple[Int64, Int64]:
    """I/O node and node-local offset of each byte position."""
    if unit < 1 or nodes < 1:
        raise ParameterError("striping", (unit, nodes), "a unit and a number of nodes of 1 or more")
    # byte x is on node (x // u) % M, at local offset (x // (u*M)) * u + x % u
    return offsets // unit % nodes, offsets // (unit * nodes) * unit + offsets % unit


def bytes_on_nodes(table: Extents, unit: int, nodes: int) -> Int64:
    """Bytes that the extents have on each I/O node, shape (nodes,); the access set is where it is positive."""
    _, begins, lengths = split(table.offsets, table.lengths, unit)
    node, _ = locate(begins, unit, nodes)
    sums = np.zeros(nodes, dtype=np.int64)
    np.add.at(sums, node, lengths)
    return sums


def count_discontinuities(offsets: Int64, lengths: Int64, unit: int, nodes: int) -> Int64:
    """Arrivals at each node that do not begin where the one before ended, in the order given; shape (nodes,)."""
    _, begins, sizes = split(offsets, lengths, unit)
    node, local = locate(begins, unit, nodes)
    order = np.argsort(node, kind="stable")
    node, local, sizes = node[order], local[order], sizes[order]
    seeks = (node[1:] == node[:-1]) & (local[1:] != (local + sizes)[:-1])
    return np.bincount(node[1:][seeks], minlength=nodes).astype(np.int64)
