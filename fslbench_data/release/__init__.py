"""A release, opened from the package, a folder or the Hub: tasks, classes, features, results."""
