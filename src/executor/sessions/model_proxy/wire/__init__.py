"""The wire formats of the providers: pure functions over requests, streams and errors."""
