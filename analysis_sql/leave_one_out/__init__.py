"""Leave-one-out intervals: how far a mean over tasks would move without one image, or class."""
