import hashlib
import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis_sql.intervals.random_stream import Stream


class Words(Stream):
    def __init__(self, words: list[int]) -> None:
        self._given = np.array(words, np.uint64)
        self.seek(0)

    def seek(self, position: int) -> None:
        self.position = position

    def words(self, count: int) -> np.ndarray:
        taken = self._given[self.position : self.position + count]
        assert taken.size == count, "out of words"
        self.position += count
        return taken


def plain_integer(words: Iterator[int], n: int) -> int:
    while True:
        word = next(words)
        if word < 2**64 - 2**64 % n:
            return word % n


def test_the_key_by_hand() -> None:
    text = json.dumps(["fslbench-stream-1", "open", 3])
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
    expected = np.random.Philox(key=key).random_raw(10)
    np.testing.assert_array_equal(Stream("open", 3).words(10), expected)
    assert not np.array_equal(Stream("open", 4).words(10), expected)
    assert not np.array_equal(Stream("open3").words(10), expected)


@pytest.mark.parametrize("position", [0, 1, 3, 4, 5, 17, 1000])
def test_seeking(position: int) -> None:
    stream = Stream("seek")
    expected = Stream("seek").words(position + 9)[position:]
    stream.words(3)
    stream.seek(position)
    np.testing.assert_array_equal(stream.words(9), expected)
    assert stream.position == position + 9


@given(st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=20), st.integers(0, 2**32))
def test_integers_are_those_of_a_plain_loop(bounds: list[int], seed: int) -> None:
    # bounds just above 2^62 reject up to a third of the words
    stream = Stream("plain", seed)
    words = iter(Stream("plain", seed).words(2000).tolist())
    expected = [plain_integer(words, n) for n in bounds]
    assert stream.integers(np.array(bounds, np.int64)).tolist() == expected
    # and exactly as many words are gone
    assert stream.words(1)[0] == next(words)


def test_unfair_words_are_skipped() -> None:
    # 2^64 mod 3 = 1: the largest word would make 0 too likely
    assert Words([2**64 - 1, 2**64 - 2, 5]).integers(np.array([3, 3])).tolist() == [2, 2]
    # powers of two divide 2^64: no word is unfair
    assert Words([2**64 - 1]).integers(np.array([8])).tolist() == [7]
    assert Words([2**64 - 1]).integers(np.array([1])).tolist() == [0]


@given(st.lists(st.integers(4, 40), min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 99))
def test_subsets_are_those_of_a_plain_loop(sizes: list[int], count: int, seed: int) -> None:
    words = iter(Stream("subset", seed).words(500).tolist())
    expected = []
    for size in sizes:
        left = list(range(size))
        expected.append([left.pop(plain_integer(words, len(left))) for _ in range(count)])
    found = Stream("subset", seed).subsets(np.array(sizes), count)
    assert found.tolist() == expected


@given(st.integers(0, 6), st.integers(1, 9), st.integers(0, 99))
def test_permutations_rank_the_next_words(rows: int, length: int, seed: int) -> None:
    words = Stream("permutation", seed).words(rows * length).reshape(rows, length)
    found = Stream("permutation", seed).permutations(rows, length)
    assert found.tolist() == [sorted(range(length), key=row.__getitem__) for row in words]


def test_a_permutation_of_tied_words_is_redrawn_whole() -> None:
    stream = Words([3, 1, 2, 7, 7, 0, 5, 4, 9])
    assert stream.permutations(2, 3).tolist() == [[1, 2, 0], [1, 0, 2]]
    assert stream.position == 9
