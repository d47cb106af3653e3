"""The maintainers' side of the Hub: publishing releases, and keeping a results repository."""
