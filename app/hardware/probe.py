"""Looks at this computer once: probe() -> HardwareSnapshot."""
