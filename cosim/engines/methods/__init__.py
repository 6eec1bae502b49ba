"""Integration methods and the linear algebra they need, shared by the engines."""
