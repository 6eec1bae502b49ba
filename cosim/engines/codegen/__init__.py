"""From the functions of a system to code: what is computed where (a plan), and its printing."""
