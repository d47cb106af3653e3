"""Spurious bias: worst classes, gaps between task sets, rank correlations of methods (FewSTAB)."""
