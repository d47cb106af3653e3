"""Two methods or many on the same tasks: verdicts, all pairs, several comparisons at once."""
