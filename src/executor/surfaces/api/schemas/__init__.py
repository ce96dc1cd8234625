"""Request and response schemas of `/v1`."""
