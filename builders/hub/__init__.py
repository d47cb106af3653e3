"""Publish releases on the Hub, and keep a results repository there."""
