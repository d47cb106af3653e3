"""A leaderboard as a page: what may be best, every method and task set, and who sent what."""
