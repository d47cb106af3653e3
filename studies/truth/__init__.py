"""Which measure of bias orders methods by their reliance on an attribute: a test with a truth."""
