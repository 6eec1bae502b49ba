"""What can be said of a system without running it: linear models, operating points, statics, modes."""
