"""The executor process: one for each session, between the daemon and the agent."""
