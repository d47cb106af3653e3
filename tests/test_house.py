"""The floors of the house: who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FLOORS = ["benchmark_spec", "analysis_sql", "fslbench_data", "builders"]
HEAVY = {"torch", "open_clip", "timm", "sklearn", "spacy", "transformers", "ray"}


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_each_floor_imports_only_from_those_below(floor: str, root: Path) -> None:
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    files = list((root / floor).rglob("*.py"))
    assert files
    for path in files:
        imports = _imports(path)
        assert not imports & above, path
        if floor != "builders":
            assert not imports & HEAVY, path
        if floor == "benchmark_spec":
            allowed = set(sys.stdlib_module_names) | {"pyarrow", "benchmark_spec"}
            assert imports <= allowed, path


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "scipy", "rich", "datasets", "huggingface_hub", "pandas"]
    code = f"import sys, fslbench_data.cli; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_scoring_does_without_the_slow_imports() -> None:
    heavy = ["scipy.stats", "datasets", "huggingface_hub", "torch", "sklearn"]
    code = (
        "import sys, fslbench_data as fb, fslbench_data.render.table_format\n"
        "fb.score, fb.Submission, fb.load_release()\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_reference_results_are_read_without_pandas() -> None:
    code = (
        "import sys, fslbench_data as fb\n"
        "fb.load_release().references()\n"
        "print('pandas' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_modules_hold_one_job(root: Path) -> None:
    for floor in FLOORS:
        for path in (root / floor).rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 350, path
