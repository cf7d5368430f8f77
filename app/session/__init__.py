"""The imperative shell of the window: state, undo, jobs. QtCore only."""
