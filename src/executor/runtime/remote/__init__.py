"""The `remote` runtime: sandboxes of a host elsewhere, driven over HTTP with a token for each run."""
