"""Where secrets come from if not from the database: environment, keyring, 1Password, Vault."""
