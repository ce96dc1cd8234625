"""/v1/sessions: agent sessions."""
