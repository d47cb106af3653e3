"""The samplers' random numbers; they live where the statistics, a floor below, can use them too."""

from analysis_sql.stream import Integers, Stream, Words

__all__ = ["Integers", "Stream", "Words"]
