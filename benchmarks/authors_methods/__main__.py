"""Prints the table: ``python -m benchmarks.authors_methods CHECKOUT``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks.authors_methods as package

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
    print("| method | compared | largest difference | tolerance |")
    print("|---|---|---:|---:|")
    for module in modules:
        if not hasattr(module, "compare"):
            continue
        for method, what, difference in module.compare(checkout):
            print(f"| {method} | {what} | {difference:.1e} | {TOLERANCE:.0e} |", flush=True)
            worst = max(worst, difference)
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
