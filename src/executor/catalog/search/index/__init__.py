"""The search index: segments of words per source, kept on disk, joined per workspace."""
