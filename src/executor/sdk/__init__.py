"""The Python SDK: `from executor import Executor, AsyncExecutor`. A daemon is driven over HTTP, or embedded."""
