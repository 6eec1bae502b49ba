/* L U = diagonal I - J for the stiff method: sparse without pivoting where that is safe, else dense. */

#ifndef PL_LU_H
#define PL_LU_H

#include "plantloop.h"

/* 0: singular, or not finite. */
int pl_factor(pl_stiff *s, int n, double diagonal);
/* The solution takes the place of b (n,). */
void pl_solve_factored(const pl_stiff *s, int n, double *b);

#endif
