"""Intervals for new classes: tasks that share classes, and what that adds to the variance."""
