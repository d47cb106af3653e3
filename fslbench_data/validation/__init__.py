"""Check submissions against a release."""
