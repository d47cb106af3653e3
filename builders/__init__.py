"""Tools of maintainers to make releases: sources, samplers, features, baselines."""
