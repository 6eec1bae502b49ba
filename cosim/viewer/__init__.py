"""One page in the browser: the diagram, scopes of the signals, the moving plants."""
