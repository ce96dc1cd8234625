"""The commands, one module each. They are imported when they are used."""
