"""The `executor` command. Every start imports it: standard library and click only, each command when it is used."""
