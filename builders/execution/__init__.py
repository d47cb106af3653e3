"""Run long work, here or on a cluster, and write the files that it shares."""
