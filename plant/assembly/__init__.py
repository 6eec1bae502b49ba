"""Starts that obey all constraints, and a plant put in the place of another."""
