"""Executor: the control plane between AI agents and everything they may touch."""

__version__ = "0.1.0"
