"""Looks at the computer once and says what it found, from where."""
