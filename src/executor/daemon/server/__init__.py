"""The HTTP server on the daemon's port and sockets."""
