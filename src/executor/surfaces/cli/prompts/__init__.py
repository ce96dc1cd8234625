"""What the CLI asks people for."""
