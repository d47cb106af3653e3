"""Intervals for new images: counts, their moments, and the means of tasks that share no image."""
