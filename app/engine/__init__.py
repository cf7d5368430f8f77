"""llama-server: find it, ask it, run it, read its log. No Qt."""
