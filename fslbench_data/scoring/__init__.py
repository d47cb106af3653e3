"""Compare methods by their per-task results: selections, scores, reports and plans."""
