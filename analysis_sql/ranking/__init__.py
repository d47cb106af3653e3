"""Which methods may be the best, and the evidence for each comparison."""
