"""What maintainers use to make releases: sources, samplers, features, baselines."""
