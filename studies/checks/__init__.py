"""Checks too large for the tests: measurements at full size, with their output committed."""
