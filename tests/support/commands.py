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
