"""The user's settings: load, save, upgrade."""
