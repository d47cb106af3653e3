"""Random integers, subsets and permutations from the raw words of a bit generator.

numpy promises the raw stream of its bit generators, not the methods of ``Generator``; so the
arithmetic from 64-bit words to numbers is done here, and a task set comes out the same on every
platform and under every numpy.  Three sentences define it:

- *Key*: the first 16 bytes of the SHA-256 of the JSON array ``["fslbench-stream-1", part, ...]``,
  as one little-endian integer, keys a Philox4x64-10 whose counter starts at 0.
- *Integer below n*: take the next word w; if w >= 2^64 - (2^64 mod n) skip it and take the next;
  the integer is w mod n.
- *Permutation of n*: the ranks of the next n words; if two of them are equal, all n are redrawn.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Ints

Words = NDArray[np.uint64]

_MAX_WORD = np.uint64(2**64 - 1)
_WORDS_PER_COUNTER = 4


class Stream:
    """A keyed, seekable stream of uniform random words.

    Methods take the next words in order, as a plain loop would, whatever the size of the request.
    """

    def __init__(self, *key: str | int) -> None:
        text = json.dumps(["fslbench-stream-1", *key])
        self._key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
        self.seek(0)

    def seek(self, position: int) -> None:
        """Go to word number `position`."""
        self._generator = np.random.Philox(key=self._key)
        self._generator.advance(position // _WORDS_PER_COUNTER)
        self._generator.random_raw(position % _WORDS_PER_COUNTER)
        self.position = position

    def words(self, count: int) -> Words:
        """Return the next `count` words, uint64."""
        self.position += count
        return self._generator.random_raw(count)

    def integers(self, bounds: Ints) -> Ints:
        """Draw an unbiased integer in 0..bound-1 for each positive bound, int64 of their shape.

        Bounds are read in C order.
        """
        below = bounds.reshape(-1).astype(np.uint64)
        last_fair = _MAX_WORD - (np.uint64(0) - below) % below  # 2^64 mod n = (2^64 - n) mod n
        result = np.empty(below.size, np.int64)
        done = 0
        while done < below.size:
            start = self.position
            words = self.words(below.size - done)
            unfair = np.flatnonzero(words > last_fair[done:])
            take = int(unfair[0]) if unfair.size else words.size
            result[done : done + take] = words[:take] % below[done : done + take]
            done += take
            if unfair.size:
                self.seek(start + take + 1)
        return result.reshape(bounds.shape)

    def subsets(self, sizes: Ints, count: int) -> Ints:
        """Draw `count` distinct integers below n for each size n, in random order."""
        chosen = self.integers(sizes[:, None] - np.arange(count))
        for i in range(1, count):
            for taken in np.sort(chosen[:, :i], axis=1).T:
                chosen[:, i] += chosen[:, i] >= taken
        return chosen

    def permutations(self, rows: int, length: int) -> Ints:
        """Return `rows` independent uniform permutations of 0..length-1, int64 (rows, length)."""
        result = np.empty((rows, length), np.int64)
        done = 0
        while done < rows:
            start = self.position
            words = self.words((rows - done) * length).reshape(rows - done, length)
            order = np.argsort(words, axis=1)
            ranked = np.take_along_axis(words, order, axis=1)
            tied = np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1))
            take = int(tied[0]) if tied.size else rows - done
            result[done : done + take] = order[:take]
            done += take
            if tied.size:
                self.seek(start + (take + 1) * length)
        return result
