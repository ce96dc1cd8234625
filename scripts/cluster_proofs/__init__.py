"""Faults of every kind in a cluster of real processes, and what was lost, doubled or wrong afterwards."""
