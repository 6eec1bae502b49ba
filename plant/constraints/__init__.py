"""Conditions between markers, how they are closed and kept, and the reactions they cause."""
