"""Figures; this module only names them, so that the command starts fast."""

OF_LADDERS = ("ladder", "worst")
"""Figures of task sets made with attributes of images."""

KINDS = ("forest", "accuracies", "means", "scatter", "queries", *OF_LADDERS, "conclusive")
"""All figures, in the order in which they are described."""
