"""The verbs of docs/cli.md."""
