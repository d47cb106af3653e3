"""Values of tables of features."""

from typing import Any

import pyarrow as pa
from numpy.typing import NDArray


def feature_array(table: pa.Table) -> NDArray[Any]:
    """Return values (n, D) of a table of features, as :func:`feature_table` makes it."""
    values: NDArray[Any] = table.column("feature").combine_chunks().flatten().to_numpy()
    return values.reshape(len(table), -1)
