"""What a task set will be able to show, and how many queries a task should have."""
