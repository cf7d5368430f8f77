"""Columns, cards and budget bars."""
