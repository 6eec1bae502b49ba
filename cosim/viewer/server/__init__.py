"""Runs that are watched and controlled in the browser, and the server of their pages."""
