"""Reading documents: threads, subprocesses and rows of tools on their way to storage."""
