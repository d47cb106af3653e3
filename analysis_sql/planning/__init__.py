"""Plans: what a task set will show, and how many queries a task should have."""
