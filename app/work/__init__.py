"""Use cases without Qt: open a file, plan, launch, export."""
