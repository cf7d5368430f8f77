"""What turns Lanewise into something that is installed."""
