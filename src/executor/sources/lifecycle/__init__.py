"""The life of a source: preview, consent, add, refresh, rename, choose tools, remove."""
