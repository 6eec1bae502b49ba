"""The C interface of FMI 2.0 and 3.0: libraries, values and calls."""
