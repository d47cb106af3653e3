"""The registry of interval kinds: a new one is a module, a row of it, and a name."""

import ast
from pathlib import Path

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS, kinds_of

OWN = {"benchmark_spec/protocol.py", "analysis_sql/interval_kinds.py"}
"""Files that name a kind beside its own module: three are touched for a new one."""


def _texts(path: Path) -> set[str]:
    """Texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone
    }


def test_a_kind_is_named_in_three_files(root: Path) -> None:
    names = {text for kind, beside in BESIDE.items() for text in (kind, beside.about)}
    naming = {
        path.relative_to(root).as_posix()
        for package in ("benchmark_spec", "analysis_sql", "fslbench_data", "builders")
        for path in (root / package).rglob("*.py")
        if _texts(path) & names
    }
    assert {name for name in naming if not name.startswith("analysis_sql/class_aware/")} == OWN


def test_a_task_set_has_the_kinds_that_can_be_computed() -> None:
    design = ClassDesign.of([[0, 1], [2, 3]])  # type: ignore[arg-type]
    assert kinds_of("closed", None) == ("closed",)
    assert kinds_of("open", design) == ("open", *BESIDE)
    assert {*ESTIMANDS} == {"closed", "open", *BESIDE}
