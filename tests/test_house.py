"""The house: which package and which folder may import which, and how large a room may be."""

import ast
import re
import sys
from graphlib import TopologicalSorter

import pytest
from processes import python

import fslbench_data
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, ESTIMANDS
from analysis_sql.leave_one_out.design import LEFT_OUT

FLOORS = {
    "benchmark_spec": "version | errors | naming extras declared | protocol"
    " | schemas manifest | digest catalogue",
    "analysis_sql": "intervals query_limits | comparisons bias engine | class_aware leave_one_out"
    " | interval_kinds | multiple_comparisons planning",
    "fslbench_data": "entry files tasks pictures | hub sampling submission | sandbox | release"
    " | validation torch | scoring | render | evaluation leaderboard | cli",
    "builders": "entry execution sources sampling | training | features | attributes baselines"
    " | query_size | release | hub | cli",
}
"""The packages from the lowest up, and the rooms of each, lowest floor first.

A room, a module or a folder directly in a package, imports from lower floors only.
"""

ROOMS = {"benchmark_spec": 13, "analysis_sql": 10, "fslbench_data": 16, "builders": 12}
MOST_LINES = 700

HEAVY = {"torch", "open_clip", "timm", "sklearn", "spacy", "transformers", "ray"}
FOR_TORCH = "fslbench_data.torch"
"""The one room below the builders that may import one of them, PyTorch."""


@pytest.fixture(scope="module")
def modules(root):
    """The files of all modules of the packages, by dotted name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for package in FLOORS
        for path in (root / package).rglob("*.py")
    }


@pytest.fixture(scope="module")
def imports(modules):
    """What each module imports: modules of these packages by whole name, others by the first part.

    Imports inside functions and for type checkers count as any other.
    """
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path, modules):
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


def _room(module):
    return ".".join(module.split(".")[:2])


def _floors(package):
    return [floor.split() for floor in FLOORS[package].split("|")]


@pytest.mark.parametrize("package", FLOORS)
def test_a_package_imports_only_from_those_below(package, imports):
    above = set(list(FLOORS)[list(FLOORS).index(package) + 1 :])
    inside = {name: imports[name] for name in imports if name.split(".")[0] == package}
    assert inside
    for name, imported in inside.items():
        packages = {other.split(".")[0] for other in imported}
        assert not packages & {*above, "benchmarks", "studies"}, name
        if package != "builders":
            assert not packages & (HEAVY - {"torch"} if _room(name) == FOR_TORCH else HEAVY), name
        if package == "benchmark_spec":
            assert packages <= {*sys.stdlib_module_names, "msgspec", "pyarrow", package}, name


@pytest.mark.parametrize("package", FLOORS)
def test_the_rooms_are_few_and_each_has_a_floor(package, modules):
    rooms = {_room(name).split(".")[1] for name in modules if name.startswith(f"{package}.")}
    assert len(rooms) <= ROOMS[package]
    listed = [room for floor in _floors(package) for room in floor]
    assert sorted(listed) == sorted(rooms)


@pytest.mark.parametrize("package", FLOORS)
def test_a_room_imports_only_from_lower_floors(package, imports):
    floors = enumerate(_floors(package))
    floor_of = {f"{package}.{room}": level for level, floor in floors for room in floor}
    for name, imported in imports.items():
        for other in imported:
            here, there = _room(name), _room(other)
            if here != there and {here, there} <= floor_of.keys():
                assert floor_of[there] < floor_of[here], f"{name} -> {other}"


def test_no_modules_import_each_other_in_a_circle(imports):
    TopologicalSorter(imports).prepare()  # else it raises an error


def test_modules_hold_one_job(modules):
    lines = {n: len(p.read_text(encoding="utf-8").splitlines()) for n, p in modules.items()}
    assert not {name for name, number in lines.items() if number > MOST_LINES}


def test_no_module_binds_a_constant_twice(modules):
    for name, path in modules.items():
        bound = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else ()
            found = {n.id for each in targets for n in ast.walk(each) if _is_bound(n)} - {"_"}
            assert not found & bound, name
            bound |= found


def _is_bound(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_examples_import_public_names_from_the_package_alone(root):
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "examples").rglob("*.py")]
    imported = re.compile(r"^\s*from (fslbench_data\.[\w.]+) import ([\w, ]+)$", re.MULTILINE)
    for page in pages:
        for module, names in imported.findall(page.read_text(encoding="utf-8")):
            public = {name.strip() for name in names.split(",")} & set(fslbench_data.__all__)
            assert not public, f"{page}: {sorted(public)} from {module}"


LATE = ["datasets", "huggingface_hub", "pandas"]


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import fslbench_data.cli", ["numpy", "pyarrow", "duckdb", "scipy", "rich", "msgspec"]),
        (
            "import fslbench_data as fb, fslbench_data.render.details_text\n"
            "fb.score, fb.Submission, fb.load_release().references()",
            ["scipy.stats", "jinja2", "torch", "sklearn"],
        ),
    ],
)
def test_what_is_imported_late(code, without):
    code = f"{code}\nimport sys; print([m for m in {[*without, *LATE]} if m in sys.modules])"
    assert python(code, check=True).stdout.strip() == "[]"


def test_a_kind_is_named_in_three_files(modules):
    """Beside its own module in two, by texts that are no docstrings."""
    names = {text for kind, beside in ADDITIONAL_KINDS.items() for text in (kind, beside.heading)}
    names -= {*LEFT_OUT}  # which are names of much else
    own = {type(beside.how).__module__ for beside in ADDITIONAL_KINDS.values()}
    own |= {"benchmark_spec.protocol", "analysis_sql.interval_kinds"}
    for module in modules.keys() - own:
        nodes = [*ast.walk(ast.parse(modules[module].read_text(encoding="utf-8")))]
        alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in alone]
        named = names & {text for text in texts if isinstance(text, str)}
        assert not named, f"name {named} by a constant of its module in {module}"


def test_columns_of_one_table_have_names_of_their_own():
    headings = {beside.heading for beside in ADDITIONAL_KINDS.values()}
    keys = {beside.key for beside in ADDITIONAL_KINDS.values()}
    assert len(headings) == len(keys) == len(ADDITIONAL_KINDS)
    assert len({*ESTIMANDS.values()}) == len(ESTIMANDS)
    assert {*ESTIMANDS} == {"closed", "open", *ADDITIONAL_KINDS}
