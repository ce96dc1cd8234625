"""Commands for executions, their approvals and their artifacts."""
