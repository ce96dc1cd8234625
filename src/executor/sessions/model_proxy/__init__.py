"""The model proxy: an agent holds a virtual key, and the provider's real one never leaves the daemon."""
