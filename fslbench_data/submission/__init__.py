"""Submissions: recording, reading, checking."""
