"""A process with bounded memory and time, for what strangers wrote: their files, and SQL."""
