"""Training of few-shot methods on images of classes that no task shows."""
