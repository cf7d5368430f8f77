"""Samplers and the ring buffer behind the live curves. No Qt."""
