"""What makes a submission valid on a release."""
