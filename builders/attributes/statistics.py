"""How many attributes a data set has, as in Table 2 of FewSTAB (Zheng et al., ECCV 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from benchmark_spec.errors import SchemaError


@dataclass(frozen=True)
class AttributeStatistics:
    """How many attributes a data set has.

    Attributes
    ----------
    classes, images
        Of the data set.
    unique
        Different attributes.
    per_class
        Mean over classes of the different attributes that any image of the class has.
    spurious_per_class
        Mean over classes of the attributes that some images of the class have and some have not:
        <c, a> is then a spurious correlation.
    per_image
        Mean over images of their attributes.
    without
        Images without any.
    """

    classes: int
    images: int
    unique: int
    per_class: float
    spurious_per_class: float
    per_image: float
    without: int

    def __str__(self) -> str:
        return (
            f"{self.classes} classes, {self.images:,} images, {self.unique:,} attributes; "
            f"per class {self.per_class:.2f}, of these spurious {self.spurious_per_class:.2f}; "
            f"per image {self.per_image:.2f}, none for {self.without:,}"
        )


def attribute_statistics(table: pa.Table, class_sizes: Sequence[int]) -> AttributeStatistics:
    """Count the attributes of a table, which must have a row for each image.

    Parameters
    ----------
    table
        Of the schema :data:`benchmark_spec.schemas.ATTRIBUTES`.
    class_sizes : C
        Images of each class, in the frozen order of classes.
    """
    of_image = table.column("attributes").to_pylist()
    if len(of_image) != sum(class_sizes) or not of_image:
        raise SchemaError(
            f"the table has {len(of_image)} rows", expected=f"{sum(class_sizes)}, one an image"
        )
    unique: set[str] = set()
    of_classes = spurious = first = 0
    for size in class_sizes:
        counts = Counter(a for words in of_image[first : first + size] for a in set(words))
        first += size
        unique |= set(counts)
        of_classes += len(counts)
        spurious += sum(number < size for number in counts.values())
    return AttributeStatistics(
        classes=len(class_sizes),
        images=len(of_image),
        unique=len(unique),
        per_class=of_classes / len(class_sizes),
        spurious_per_class=spurious / len(class_sizes),
        per_image=sum(map(len, of_image)) / len(of_image),
        without=sum(not words for words in of_image),
    )
