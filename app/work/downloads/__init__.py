"""Fetches files over HTTP: resumable, checked while written, cancelled at once. Knows nothing of what it fetches."""
