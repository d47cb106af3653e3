"""Each rule about rows has a file; what breaks each is frozen: tests/test_refusals.py."""

from pathlib import Path

from fslbench_data.validation.validate import RULES, RowRule


def test_every_rule_has_a_file(root: Path) -> None:
    names = [rule.name for rule in RULES if isinstance(rule, RowRule)]
    files = (root / "analysis_sql/queries/rules").glob("*.sql")
    assert sorted(path.stem for path in files) == sorted(names)
