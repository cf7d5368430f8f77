"""Reads GGUF headers."""
