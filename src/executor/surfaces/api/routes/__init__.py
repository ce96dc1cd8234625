"""The routes of `/v1`, one module for each noun, in folders by topic."""
