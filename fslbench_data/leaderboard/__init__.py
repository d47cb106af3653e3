"""Results repositories: who submitted what, whether it counts, and who leads."""
