"""Run a method over frozen tasks: inputs, journal, loop."""
