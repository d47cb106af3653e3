"""Prints the table: ``python -m studies.trained_methods.authors_methods CHECKOUT``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

import studies.trained_methods.authors_methods as package

TOLERANCE = 1e-5


def main() -> int:
    """Compare all methods; return 1 where one differs by more than the tolerance."""
    parser = argparse.ArgumentParser(description=package.__doc__)
    parser.add_argument("checkout", type=Path)
    checkout = parser.parse_args().checkout.resolve()
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if module.name != "__main__"
    ]
    worst = 0.0
    print("| method | compared | of | largest difference | tolerance |")
    print("|---|---|---|---:|---:|")
    for module in modules:
        rows: dict[tuple[str, str], dict[str, float]] = {}
        for method, what, where, difference in getattr(module, "compare", _nothing)(checkout):
            rows.setdefault((method, what), {})[where] = difference
        for (method, what), differences in rows.items():
            largest = max(differences.values())
            places = "; ".join(differences)
            print(f"| {method} | {what} | {places} | {largest:.1e} | {TOLERANCE:.0e} |", flush=True)
            worst = max(worst, largest)
    return int(worst > TOLERANCE)


def _nothing(checkout: Path) -> Iterator[tuple[str, str, str, float]]:
    return iter(())


if __name__ == "__main__":
    sys.exit(main())
