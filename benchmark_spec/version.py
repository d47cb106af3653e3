"""The one place that states the versions of the package and of the data format."""

__version__ = "0.1.0"
"""Version of the Python distribution ``fslbench``."""

SPEC_VERSION = "1.1"
"""Version of the release and submission formats; a reader accepts the same major number."""

OUTPUT_SCHEMA = 3
"""Version of what commands print for machines: the key ``schema`` of JSON; see docs/schemas.md."""
