"""Approvals: asking a human about a call, settling the answer, and the limits on both."""
