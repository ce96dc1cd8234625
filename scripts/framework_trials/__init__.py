"""Services made with web frameworks, connected and called as an agent would."""
