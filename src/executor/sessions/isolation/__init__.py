"""How far an agent's processes are kept apart: clean environment, limits, another Unix user, a sandbox."""
