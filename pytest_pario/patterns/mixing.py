"""Counter-based pseudo-random words: the same on every machine and with every version of numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def mix(word: int) -> int:
    """Mix one 64-bit word; different words give different results (the finaliser of splitmix64)."""
    word &= _MASK
    for shift, factor in _STEPS:
        word = (word ^ (word >> shift)) * factor & _MASK
    return word ^ (word >> 31)


def mix_words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix each word in place, any shape."""
    scratch = np.empty_like(words)
    for shift, factor in _STEPS:
        np.right_shift(words, np.uint64(shift), out=scratch)
        words ^= scratch
        words *= np.uint64(factor)
    np.right_shift(words, np.uint64(31), out=scratch)
    words ^= scratch
    return words
