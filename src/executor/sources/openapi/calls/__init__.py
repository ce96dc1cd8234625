"""From arguments to an HTTP request, and from its response to a result."""
