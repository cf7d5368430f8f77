"""Live charts."""
