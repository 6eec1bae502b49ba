"""Subsystems that run under a condition: enabled, triggered, called, chosen, repeated."""
