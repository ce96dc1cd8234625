"""Metrics, traces and the ids in log lines. Nothing beyond the standard library is imported until it is used."""
