"""Trainings need packages of the extra `builders`; without them this folder is skipped."""

import pytest

for package in ("torch", "sklearn", "PIL"):
    pytest.importorskip(package, reason=f"needs {package}, of the extra `builders`")
