"""Agent sessions: sessions, their tasks, transcripts and tokens."""
