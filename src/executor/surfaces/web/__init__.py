"""Serves the built web UI. The pages hold no data: all of it comes from `/v1`, with the browser's session."""
