"""The run-time expression language: grammar, functions, splines and what an expression may name."""
