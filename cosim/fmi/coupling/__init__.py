"""Coupling of units that step themselves: a co-simulation master."""
