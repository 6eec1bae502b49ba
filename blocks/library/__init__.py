"""The blocks a diagram is built from, one family per file."""
