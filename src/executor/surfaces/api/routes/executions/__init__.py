"""Routes for executions, their approvals and their artifacts."""
