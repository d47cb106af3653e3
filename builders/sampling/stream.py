"""The random stream of the samplers, which lives with the statistics: they draw from it too."""

from analysis_sql.stream import Stream

__all__ = ["Stream"]
