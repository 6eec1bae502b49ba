"""A run that is watched and steered in the browser, and the server of its page."""
