"""Makes files that are good, almost good or spoilt."""
