"""Executor processes: how many, how they are started and ended, and what is said to them."""
