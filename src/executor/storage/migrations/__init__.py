"""Alembic migrations, run by `executor.storage.migrate`."""
