"""The registry of interval kinds: a new one is a module, a row of it, and a name."""

import ast
from pathlib import Path

from analysis_sql.interval_kinds import ADDITIONAL_KINDS, ESTIMANDS, kinds_of
from analysis_sql.leave_one_out.design import LEFT_OUT

OWN = {"benchmark_spec/protocol.py", "analysis_sql/interval_kinds.py"}
"""Files that name a kind beside its own module: three are touched for a new one."""


def _texts(path: Path, names: set[str]) -> set[str]:
    """Texts of a module that are no docstrings, if any of the names is in it at all."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in names):
        return set()
    tree = ast.parse(text)
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone
    }


def test_a_kind_is_named_in_three_files(root: Path) -> None:
    names = {text for kind, beside in ADDITIONAL_KINDS.items() for text in (kind, beside.heading)}
    names -= {*LEFT_OUT}  # which are names of much else
    naming = {
        path.relative_to(root).as_posix()
        for package in ("benchmark_spec", "analysis_sql", "fslbench_data", "builders")
        for path in (root / package).rglob("*.py")
        if _texts(path, names) & names
    }
    own = {
        type(beside.how).__module__.replace(".", "/") + ".py"
        for beside in ADDITIONAL_KINDS.values()
    }
    other = sorted(naming - OWN - own)
    assert not other, f"name a kind by a constant of its module in {', '.join(other)}"


def test_columns_of_one_table_have_names_of_their_own() -> None:
    assert len({beside.heading for beside in ADDITIONAL_KINDS.values()}) == len(ADDITIONAL_KINDS)
    assert len({beside.key for beside in ADDITIONAL_KINDS.values()}) == len(ADDITIONAL_KINDS)
    assert len({*ESTIMANDS.values()}) == len(ESTIMANDS)


def test_a_task_set_has_the_kinds_that_can_be_computed() -> None:
    assert kinds_of("closed", {}) == ("closed",)
    assert kinds_of("closed", {"classes": None, "images": None}) == ("closed", "images", "classes")
    assert kinds_of("open", {"class-aware": None}) == ("open", "class-aware")
    assert {*ESTIMANDS} == {"closed", "open", *ADDITIONAL_KINDS}
