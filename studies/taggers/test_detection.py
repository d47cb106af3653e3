"""Detection accuracy of two tables of attributes, by hand."""

import numpy as np
import pyarrow as pa
import pytest

from benchmark_spec.errors import SpecError
from benchmark_spec.schemas import ATTRIBUTES
from studies.taggers.detection import Detection, detections


def table(*of_images: str) -> pa.Table:
    """A table of the attributes of images, each a text of words."""
    words = [sorted(image.split()) for image in of_images]
    ids = list(range(len(words)))
    columns = {"image_id": ids, "text": [None] * len(ids), "attributes": words}
    return pa.table(columns, schema=ATTRIBUTES)


def _found(*tables: pa.Table) -> tuple[Detection, Detection]:
    return detections(*tables, ("first", "second"))


def test_by_hand() -> None:
    second, first = _found(table("a b", "a", "", "b c d"), table("a", "a", "a", "d e"))
    # shares 1/2, 1, 1/3 of three images; the third has nothing to find
    assert (second.by, second.of, second.images) == ("second", "first", 3)
    assert second.accuracy == pytest.approx(100 * (1 / 2 + 1 + 1 / 3) / 3)
    deviation = np.std([1 / 2, 1, 1 / 3], ddof=1)
    assert second.halfwidth == pytest.approx(100 * 4.302653 * deviation / np.sqrt(3), rel=1e-6)
    assert (first.by, first.of, first.images) == ("first", "second", 4)
    assert first.accuracy == pytest.approx(100 * (1 + 1 + 0 + 1 / 2) / 4)


def test_what_no_number_can_be_given_of() -> None:
    alike, _ = _found(table("a", "a"), table("a", "a b"))
    assert (alike.accuracy, alike.halfwidth) == (100, None)
    empty, _ = _found(table("", ""), table("", "a"))
    assert (empty.images, empty.accuracy) == (0, None)
    with pytest.raises(SpecError, match="first has rows for 1 images, second for 2"):
        _found(table("a"), table("a", "b"))
