"""OpenID Connect: sign-in of people and tokens of external agents."""
