"""File formats a plant is read from and written to."""
