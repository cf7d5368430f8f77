"""Reads GGUF headers and says what each tensor is."""
