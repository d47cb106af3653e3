"""``fslbench completion``."""

from __future__ import annotations

import click


@click.command(short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: eval "$(fslbench completion bash)" in ~/.bashrc; zsh alike in ~/.zshrc
    fish: fslbench completion fish > ~/.config/fish/completions/fslbench.fish
    """  # noqa: D301
    from click.shell_completion import get_completion_class

    shell_class = get_completion_class(shell)
    assert shell_class is not None  # noqa: S101
    click.echo(shell_class(ctx.find_root().command, {}, "fslbench", "_FSLBENCH_COMPLETE").source())
