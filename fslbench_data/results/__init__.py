"""A results repository: submissions of many people, each checked again, in one table."""
