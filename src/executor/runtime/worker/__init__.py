"""Sealed worker processes, shared by the runtimes: pool, frames, steps and scheduler."""
