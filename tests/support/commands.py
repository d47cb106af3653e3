"""The command ``fslbench``, run in this process."""

from click.testing import CliRunner, Result

from fslbench_data.cli import main


def invoke(*words: object, **environment: str) -> Result:
    """Run it with these words, whatever becomes of it."""
    return CliRunner(env=environment).invoke(main, [*map(str, words)])


def printed(*words: object, **environment: str) -> str:
    """Return what it prints on standard output; it must succeed."""
    result = invoke(*words, **environment)
    assert result.exit_code == 0, result.output
    return result.stdout


def build(exit_code: int, *words: object) -> Result:
    """Run `fslbench-build`, which must end with this code."""
    from builders.cli import main as group

    result = CliRunner().invoke(group, [*map(str, words)])
    assert result.exit_code == exit_code, result.output
    return result
