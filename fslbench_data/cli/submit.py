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
    from fslbench_data.hub import eval_results
    from fslbench_data.hub.submit import only_method, prepare, propose, pull_request
    from fslbench_data.render.neutral import escaped
    from fslbench_data.scoring import score
    from fslbench_data.submission.reading import read_submission

    submission = read_submission(file)
    proposal = prepare(submission, to)
    methods = ", ".join(proposal.answers.methods)
    click.echo(f"{file}: {methods}, valid for {proposal.release}", err=True)
    report = name = None
    if model is not None:
        name = only_method(proposal.answers, method)
        report = score(submission, proposal.release, references=False)
        eval_results.entries(report, name, "")  # so that nothing is sent if this cannot be
    if dry_run:
        click.echo(f"would propose {proposal.path} to {to}")
        if report is not None and name is not None:
            click.echo(f"would propose {eval_results.PATH} to {model}:")
            new = eval_results.entries(report, name, f"(the pull request on {to})")
            click.echo(eval_results.merged(str(model), new).decode(), nl=False)
        return
    if proposal.accepted:
        url = proposal.url
        click.echo(f"{to} has these results already, as {proposal.path}")
    else:
        url = propose(proposal)
        click.echo(url)
    if report is not None and name is not None and model is not None:
        content = eval_results.merged(model, eval_results.entries(report, name, url))
        click.echo(
            pull_request(
                model,
                "model",
                {eval_results.PATH: content},
                f"FSLBench results ({proposal.digest[:12]})",
                f"Accuracies of {escaped(name)} on {proposal.release}, with their intervals; "
                f"per-task results: {url}",
            )
        )
