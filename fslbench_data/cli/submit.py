"""``fslbench submit``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import submission_argument


@click.command(short_help="Propose FILE to a results repository on the Hub.")
@submission_argument
@click.option("--to", required=True, metavar="ORG/RESULTS", help="The results repository.")
@click.option("--model", metavar="ORG/MODEL", help="Propose the results to this model's page, too.")
@click.option("--method", metavar="M", help="Which of FILE's methods the model is.")
@click.option("--dry-run", is_flag=True, help="Check everything, and send nothing.")
def submit(file: Path, to: str, model: str | None, method: str | None, dry_run: bool) -> None:
    """Check FILE against the releases of a results repository, and open a pull request there.

    Its name in the repository is the SHA-256 of its content. With --model the accuracies, with
    interval kind, half-width, level and T, are proposed to the model's repository as well.
    Doing it again opens no second pull request. The account is that of `hf auth login`.
    """
    from fslbench_data.leaderboard import eval_results
    from fslbench_data.leaderboard.submit import (
        only_method,
        open_proposal,
        prepare,
        propose,
        pull_request,
    )
    from fslbench_data.render.escaping import escaped
    from fslbench_data.sandbox.client import read_untrusted
    from fslbench_data.scoring.score import score
    from fslbench_data.submission.model import Submission

    if method is not None and model is None:
        raise click.UsageError("--method says which method the model is, and needs --model")
    parquet = file.suffix.lower() == ".parquet" and file.is_file()
    submission = read_untrusted(file) if parquet else Submission.read(file)
    proposal = prepare(submission, to)
    click.echo(
        f"{file}: {', '.join(proposal.answers.methods)}, valid for {proposal.release}", err=True
    )

    def page(source: str) -> bytes:
        """The model's file with these results; whatever is wrong with it is said here."""
        report = score(submission, proposal.release, references=False)
        name = only_method(proposal.answers, method)
        return eval_results.merged(str(model), eval_results.entries(report, name, source))

    new = page(proposal.url) if model is not None else b""  # before anything is sent
    url = proposal.url if proposal.accepted else ""
    if url:
        click.echo(f"{to} has these results already, as {proposal.path}")
    elif dry_run:
        address = open_proposal(proposal.repo_id, "dataset", proposal.title, [proposal.path])
        click.echo(address or f"would propose {proposal.path} to {to}")
    else:
        url = propose(proposal)
        click.echo(url)
    if model is None:
        return
    if not new:
        click.echo(f"{model} has these results already, in {eval_results.PATH}")
    elif dry_run:
        click.echo(f"would propose {eval_results.PATH} to {model}:\n{new.decode()}", nl=False)
    else:
        name = escaped(only_method(proposal.answers, method))
        title = f"FSLBench results ({proposal.digest[:12]})"
        text = f"Accuracies of {name} on {proposal.release}, with their intervals; per-task "
        files = {eval_results.PATH: page(url)}
        click.echo(pull_request(model, "model", files, title, f"{text}results: {url}"))
