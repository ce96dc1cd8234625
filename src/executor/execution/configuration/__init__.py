"""Configuration that people keep in a file: sources, policies, secrets by reference and roles of members."""
