"""The command `cosim`."""
