"""Who is compared with whom, and what their per-task results show."""
