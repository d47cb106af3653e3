"""The per-task accuracies that Lafargue et al. (TMLR 2024) released."""
