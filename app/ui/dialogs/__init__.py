"""Windows beside the main one: paste a command, compare plans, ask before closing, report a failed start."""
