"""Diagrams as pictures on paper: where blocks and wires go, and how they look."""
