"""Data sets of the catalogue, one file each, read from the raw layout of their authors."""
