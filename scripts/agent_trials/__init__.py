"""Real coding agents under every isolation that this machine allows, with a scripted model and no real key."""
