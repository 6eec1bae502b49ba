"""Starts that satisfy all constraints, and replacement of one plant by another."""
