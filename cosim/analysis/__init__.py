"""Analysis of a system without running it: linear models, operating points, statics, modes."""
