"""A model written down as the equations of one block."""
