"""Loads from force elements and penalties."""
