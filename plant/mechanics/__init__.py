"""Equations of motion of a plant."""
