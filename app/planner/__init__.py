"""Pure: hardware + model + wishes -> placement, bytes, command line."""
