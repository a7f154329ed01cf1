from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import RandomSizes, Segmented, Strided, chain, check, plan
from pytest_pario.units import KiB, MiB


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_offsets_are_those_of_the_formula(n: int) -> None:
    # CONS-11: block q of client c begins at q*S + c*b, moved in k transfers
    b, t, g, m = 12, 4, 5, 3
    layout = Strided(b, ncalls=m, pad=g, transfer=t)
    for c in range(n):
        wanted = [q * (n * b + g) + c * b + j * t for q in range(m) for j in range(b // t)]
        assert layout.calls(c, n).offsets.tolist() == wanted
        assert layout.calls(c, n).call_count == m * b // t


@pytest.mark.parametrize("n", [1, 3, 4])
def test_segmented_is_strided_once_without_padding(n: int) -> None:
    # CONS-15
    for rank in range(n):
        one = Segmented(60, (20,), count=3).calls(rank, n)
        other = Strided(60, transfer=20).calls(rank, n)
        assert check.are_equal(one, other)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_general_with_fixed_sizes_is_strided(n: int) -> None:
    # CONS-15
    for rank in range(n):
        one = RandomSizes(7, 7, transfers=3, strides=4, pad=11).calls(rank, n)
        other = Strided(21, ncalls=4, pad=11, transfer=7).calls(rank, n)
        assert check.are_equal(one, other)


@pytest.mark.parametrize("n", [2, 3])
def test_b_eff_io_type_0(n: int) -> None:
    # BEFF-13: chunk m of call r at D_p + ((r*L/l + m)*n + i)*l
    rows = [("p4", 32 * KiB, MiB), ("p7", KiB + 8, MiB + 8 * KiB), ("p8", MiB + 8, MiB + 8)]
    counts = [2, 3, 1]
    patterns = []
    for (name, piece, big), before in zip(rows, [None, "p4", "p7"], strict=True):
        patterns.append(Pattern(name, Strided(piece, per_call=big // piece), coll=True, etype=8, after=before))
    base = 0
    for (_, piece, big), made, count in zip(rows, chain(patterns, n, counts), counts, strict=True):
        for i in range(n):
            chunks = [(r, m) for r in range(count) for m in range(big // piece)]
            wanted = [base + ((r * (big // piece) + m) * n + i) * piece for r, m in chunks]
            assert made.ranks[i].offsets.tolist() == wanted
            assert made.ranks[i].call_bytes.tolist() == [big] * count
        base += n * big * count


def test_b_eff_io_type_1_is_ordered() -> None:
    # BEFF-14: chunk at D_p + (r*n + i)*l
    made = plan(Pattern("p11", Strided(24), pointer="shared", coll=True), 3, repetitions=4, base=100)
    for i in range(3):
        assert made.ranks[i].offsets.tolist() == [100 + (r * 3 + i) * 24 for r in range(4)]


@pytest.mark.parametrize("bad", [Strided(8, per_call=2), Strided(8, gap=1), Strided(8, pad=1), Strided(8, transfer=4)])
def test_shared_pointer_needs_contiguous_calls(bad: Strided) -> None:
    with pytest.raises(ParameterError, match="x: pointer"):
        Pattern("x", bad, pointer="shared", ranks=2)


def test_hpio_file_space() -> None:
    # RES-37: region q of process i at (q*N + i)*(size + spacing); space N*count*(size+spacing) - spacing
    size, spacing, count, n = 2048, 128, 4096, 4
    made = plan(Pattern("hpio", Strided(size, per_call=count, gap=spacing), coll=True), n)
    assert check.file_size(made.ranks) == n * count * (size + spacing) - spacing
    assert made.ranks[3].offsets[:2].tolist() == [3 * (size + spacing), (n + 3) * (size + spacing)]
    assert made.ranks[3].call_count == 1


def test_hpio_of_the_paper_moves_32_mb_to_1_gb() -> None:
    # RES-36: 4096 regions of 2 .. 64 KiB on 4 processes
    sizes = [check.total_bytes(plan(Pattern("h", Strided(s * KiB, per_call=4096)), 4).ranks) for s in (2, 64)]
    assert sizes == [32 * MiB, 1024 * MiB]


def test_noncontig_columns() -> None:
    # RES-34: rows of 4 columns of elmtcount * 4 bytes; 16384 elements make a column of 64 KiB
    made = plan(Pattern("noncontig", Strided(16384 * 4, per_call=64)), 4)
    assert np.diff(made.ranks[1].offsets).tolist() == [4 * 64 * KiB] * 63
    assert check.total_bytes(made.ranks) == 16 * MiB


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"block": 0}, "strided.block = 0"),
        ({"block": 10, "transfer": 3}, "strided.transfer = 3"),  # CONS-22
        ({"block": 10, "transfer": 5, "per_call": 2}, "strided.per_call = 2"),
        ({"block": 10, "pad": -1}, "strided.pad = -1"),
        ({"block": 1.5}, "strided.block = 1.5"),
        ({"block": True}, "strided.block = True"),
        ({"block": 1 << 60}, "strided.block"),
    ],
)
def test_impossible_parameters_are_named(parameters: dict[str, int], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        Strided(**parameters)
