"""The `python` runtime: Monty, a Python interpreter of its own, in worker processes that seal themselves.

Nothing is imported here: workers import this package too, and their idle memory counts.
"""
