"""Leave-one-out intervals, for tasks that reuse images."""
