"""Tasks of sessions: queued by people, worked through by runners."""
