"""Runtimes: where submitted code runs. `protocol` is the interface that the engine uses."""
