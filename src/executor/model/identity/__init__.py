"""Who acts and what they may do: actors, permissions, keys, sessions and invitations."""
