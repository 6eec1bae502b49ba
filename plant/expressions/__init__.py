"""The run-time expression language: grammar, functions, splines and references to elements."""
