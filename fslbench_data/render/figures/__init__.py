"""Figures; their names are here, where nothing is imported: the command starts fast."""

OF_LADDERS = ("ladder", "worst")
"""Of task sets made with attributes of images."""

KINDS = ("forest", "accuracies", "means", "scatter", "queries", *OF_LADDERS, "conclusive")
"""All, in the order in which they are described."""
