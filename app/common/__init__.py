"""Units, problems, paths and JSON: what every other package may use."""
