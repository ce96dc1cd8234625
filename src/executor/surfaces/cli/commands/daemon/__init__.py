"""Commands that start, stop and check the daemon and sandbox hosts."""
