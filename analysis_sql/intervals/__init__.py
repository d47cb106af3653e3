"""Counts of correct queries, their moments, and intervals of tasks that share no image."""
