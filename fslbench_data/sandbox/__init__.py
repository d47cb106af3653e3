"""Read files of strangers and run SQL in a process with bounded memory and time."""
