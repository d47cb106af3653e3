"""The parts of the command: each measures, and prints a Markdown table with its limits."""
