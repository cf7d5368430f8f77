"""Design tokens -> palette and style."""
