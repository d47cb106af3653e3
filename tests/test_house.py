"""The house: which package and which folder may import which, and how large a room may be."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import python

FLOORS = {
    "benchmark_spec": "version | errors | naming extras declared | digest protocol"
    " | schemas manifest | catalogue",
    "analysis_sql": "intervals queries | comparison bias | class_aware leave_one_out"
    " | interval_kinds | ranking planning",
    "fslbench_data": "entry files tasks | hub submission | sandbox | release | validation torch"
    " | scoring | render | evaluation leaderboard | cli",
    "builders": "entry execution sources sampling | training | features | attributes baselines"
    " | query_size | release | hub | cli",
}
"""The packages from the lowest up, and the rooms of each, lowest floor first.

A room, a module or a folder directly in a package, imports from lower floors only.
"""

ROOMS = {"benchmark_spec": 13, "analysis_sql": 9, "fslbench_data": 14, "builders": 12}
MOST_LINES = 700

HEAVY = {"torch", "open_clip", "timm", "sklearn", "spacy", "transformers", "ray"}
FOR_TORCH = "fslbench_data.torch"
"""The one room below the builders that may import one of them, PyTorch."""


@pytest.fixture(scope="module")
def modules(root: Path) -> dict[str, Path]:
    """The files of all modules of the packages, by dotted name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for package in FLOORS
        for path in (root / package).rglob("*.py")
    }


@pytest.fixture(scope="module")
def imports(modules: dict[str, Path]) -> dict[str, set[str]]:
    """What each module imports: modules of these packages by whole name, others by the first part.

    Imports inside functions and for type checkers count as any other.
    """
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path} imports by a relative name"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in inside]
        else:
            continue
        yield from (name if name in modules else name.split(".")[0] for name in names)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _floors(package: str) -> list[list[str]]:
    return [floor.split() for floor in FLOORS[package].split("|")]


@pytest.mark.parametrize("package", FLOORS)
def test_a_package_imports_only_from_those_below(
    package: str, imports: dict[str, set[str]]
) -> None:
    above = set(list(FLOORS)[list(FLOORS).index(package) + 1 :])
    inside = {name: imports[name] for name in imports if name.split(".")[0] == package}
    assert inside
    for name, imported in inside.items():
        packages = {other.split(".")[0] for other in imported}
        assert not packages & {*above, "benchmarks", "studies"}, name
        if package != "builders":
            assert not packages & (HEAVY - {"torch"} if _room(name) == FOR_TORCH else HEAVY), name
        if package == "benchmark_spec":
            assert packages <= {*sys.stdlib_module_names, "msgspec", "pyarrow", "benchmark_spec"}, (
                name
            )


@pytest.mark.parametrize("package", FLOORS)
def test_the_rooms_are_few_and_each_has_a_floor(package: str, modules: dict[str, Path]) -> None:
    rooms = {_room(name).split(".")[1] for name in modules if name.startswith(f"{package}.")}
    assert len(rooms) <= ROOMS[package]
    listed = [room for floor in _floors(package) for room in floor]
    assert sorted(listed) == sorted(rooms)


def test_a_room_imports_only_from_lower_floors(imports: dict[str, set[str]]) -> None:
    floor_of = {
        f"{package}.{room}": level
        for package in FLOORS
        for level, floor in enumerate(_floors(package))
        for room in floor
    }
    upward = {
        f"{name} -> {other}"
        for name, imported in imports.items()
        for other in imported
        if _room(other) in floor_of
        and _room(name) in floor_of
        and name.split(".")[0] == other.split(".")[0]
        and _room(name) != _room(other)
        and floor_of[_room(other)] >= floor_of[_room(name)]
    }
    assert not upward


def _reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = set(imports[start])
    while ahead:
        reached |= ahead
        ahead = {other for name in ahead for other in imports.get(name, ())} - reached
    return reached


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert not {name for name in imports if name in _reached(name, imports)}


def test_modules_hold_one_job(modules: dict[str, Path]) -> None:
    lines = {n: len(p.read_text(encoding="utf-8").splitlines()) for n, p in modules.items()}
    assert not {name for name, number in lines.items() if number > MOST_LINES}


def test_examples_import_public_names_from_the_package_alone(root: Path) -> None:
    import fslbench_data

    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "examples").rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(
            r"^\s*from (fslbench_data\.[\w.]+) import ([\w, ]+)$", text, re.MULTILINE
        ):
            public = {name.strip() for name in names.split(",")} & set(fslbench_data.__all__)
            assert not public, f"{page}: {sorted(public)} from {module}"


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "scipy", "rich", "datasets", "huggingface_hub", "pandas"]
    heavy.append("msgspec")
    code = f"import sys, fslbench_data.cli; print([m for m in {heavy} if m in sys.modules])"
    out = python(code, check=True)
    assert out.stdout.strip() == "[]"


def test_scoring_does_without_the_slow_imports() -> None:
    heavy = ["scipy.stats", "datasets", "huggingface_hub", "jinja2", "torch", "sklearn"]
    code = (
        "import sys, fslbench_data as fb, fslbench_data.render.details_text\n"
        "fb.score, fb.Submission, fb.load_release()\n"
        f"print([m for m in {heavy} if m in sys.modules])\n"
        "fb.load_release().references()\n"
        "print('pandas' in sys.modules)"
    )
    out = python(code, check=True)
    assert out.stdout.split() == ["[]", "False"]
