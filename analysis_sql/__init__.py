"""Statistics over per-task results: SQL questions in ``queries/``, intervals and verdicts."""
