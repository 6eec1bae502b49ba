"""User subroutines: scripts, libraries and Octave code, and what they may ask."""
