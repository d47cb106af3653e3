"""Which figures there are; nothing is imported here, so that the command line starts fast."""

OF_LADDERS = ("ladder", "worst")
"""Of task sets made with attributes of images."""

KINDS = ("forest", "accuracies", "scatter", "queries", *OF_LADDERS, "conclusive")
"""All, in the order in which they are described."""
