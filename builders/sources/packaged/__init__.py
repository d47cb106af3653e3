"""Data sets that come in packages of the ordinary registries, one file each."""
