/* Sums and norms of arrays of n numbers. */

#ifndef PL_NORMS_H
#define PL_NORMS_H

static inline int pl_all_finite(const double *v, int n)
{
    double zero = 0.0; /* stays zero unless something is infinite or no number */
    for (int i = 0; i < n; i++) zero += v[i] * 0.0;
    return zero == 0.0;
}

double pl_pairwise_sum(const double *v, int n);     /* in the order of NumPy's pairwise summation */
double pl_largest_absolute(const double *v, int n); /* nan if one is nan */

#endif
