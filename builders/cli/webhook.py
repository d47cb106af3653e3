"""``fslbench-build webhook``."""

from __future__ import annotations

import click


@click.command()
@click.option("--results", required=True, metavar="ORG/RESULTS", help="The results repository.")
@click.option("--host", default="0.0.0.0", show_default=True, help="Address to listen on.")  # noqa: S104
@click.option("--port", type=int, default=7860, show_default=True, help="Port to listen on.")
def webhook(results: str, host: str, port: int) -> None:
    """Run the app that checks every pull request on a results repository.

    It comments what the proposed submissions would show, or why they are refused, and its front
    page is the leaderboard, made again when a file is merged. Its address for
    the Hub's webhook settings is /webhooks/fslbench, its secret the variable WEBHOOK_SECRET, its
    account that of `hf auth login` or HF_TOKEN. Needs the extra `app`.
    """
    import logging
    import os

    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("HF_HUB_DISABLE_EXPERIMENTAL_WARNING", "1")  # of the server's class
    from builders.hub.webhook import make_app
    from fslbench_data.hub.address import HubAddress

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("builders").setLevel(logging.INFO)  # not of others: they log addresses
    app = make_app(HubAddress.parse(results).repo_id)
    try:
        app.launch(server_name=host, server_port=port, share=False)
    except OSError as error:
        raise click.UsageError(
            f"port {port} of {host} is not free: name another with --port"
        ) from error
