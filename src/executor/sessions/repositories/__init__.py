"""Git repositories of sessions: a clone and a branch for each."""
