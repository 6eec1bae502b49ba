"""From a diagram to the flat `System`, one step per file."""
