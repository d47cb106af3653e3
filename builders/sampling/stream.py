"""Random integers, subsets and permutations: :mod:`analysis_sql.stream`, as task sets draw them."""

from analysis_sql.stream import Stream

__all__ = ["Stream"]
