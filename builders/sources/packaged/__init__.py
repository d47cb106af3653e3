"""Data sets that come in packages."""
