"""The `python` runtime: CPython itself, compiled to WebAssembly, in worker processes that seal themselves.

Nothing is imported here: workers import this package too, and their idle memory counts.
"""
