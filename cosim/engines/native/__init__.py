"""The native engine: the system as compiled C."""
