"""SQL over per-task results, one question a file, and the connection that runs it."""
