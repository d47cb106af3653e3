"""Hostile releases and files."""

from __future__ import annotations

from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt
