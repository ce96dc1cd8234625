"""The commands, one module each, in folders by topic. They are imported when they are used."""
