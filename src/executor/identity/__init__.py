"""Who is asking: authentication, members, keys, agents and sessions."""
