"""Routes for connections, secrets and OAuth."""
