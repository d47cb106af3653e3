"""Which methods may be the best, and what the evidence for each comparison is."""
