"""Pure: everything known about a machine, a plan and a run -> findings, each with its fix."""
