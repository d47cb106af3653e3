"""The number of queries a task: sweep it on task sets, choose it, print it."""
