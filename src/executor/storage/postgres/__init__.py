"""PostgreSQL as the database. Imported only when a URL names it: psycopg is in the extra `cluster`."""
