"""Agent sessions: whole coding agents in processes of their own. Imported only when a session is used."""
