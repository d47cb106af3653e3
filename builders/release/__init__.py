"""A release: its specification, its tables, how it is built, checked, compared and described."""
