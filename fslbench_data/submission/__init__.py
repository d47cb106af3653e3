"""Record, read and merge submissions."""
