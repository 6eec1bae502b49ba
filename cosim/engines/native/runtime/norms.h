/* Sums and norms of arrays of n numbers. */

#ifndef PL_NORMS_H
#define PL_NORMS_H

static inline int pl_all_finite(const double *v, int n)
{
    double zero[4] = {0.0}; /* stay zero unless something is infinite or no number; none waits for another */
    int i = 0;
    for (; i + 3 < n; i += 4)
        for (int j = 0; j < 4; j++) zero[j] += v[i + j] * 0.0;
    for (; i < n; i++) zero[0] += v[i] * 0.0;
    return zero[0] + zero[1] + zero[2] + zero[3] == 0.0;
}

double pl_pairwise_sum(const double *v, int n);     /* in the order of NumPy's pairwise summation */
double pl_largest_absolute(const double *v, int n); /* nan if one is nan */

#endif
