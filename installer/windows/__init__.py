"""Builds the Windows installer and the portable archive from Linux (``python3 dev.py windows``)."""
