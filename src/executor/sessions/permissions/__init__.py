"""What agents ask to do, and who decides it."""
