"""The egress proxy: the few hosts that a sandboxed session may reach."""
