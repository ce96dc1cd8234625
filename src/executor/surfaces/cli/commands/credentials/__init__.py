"""Commands for connections, secrets and OAuth."""
