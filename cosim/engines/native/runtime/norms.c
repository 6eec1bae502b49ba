#include "norms.h"

#include <math.h>

double pl_pairwise_sum(const double *v, int n)
{
    if (n < 8) {
        double s = 0.0;
        for (int i = 0; i < n; i++) s += v[i];
        return s;
    }
    if (n <= 128) {
        double s[8];
        int i;
        for (int j = 0; j < 8; j++) s[j] = v[j];
        for (i = 8; i < n - n % 8; i += 8)
            for (int j = 0; j < 8; j++) s[j] += v[i + j];
        double total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        for (; i < n; i++) total += v[i];
        return total;
    }
    int half = n / 2;
    half -= half % 8;
    return pl_pairwise_sum(v, half) + pl_pairwise_sum(v + half, n - half);
}

double pl_largest_absolute(const double *v, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        if (isnan(v[i])) return v[i];
        if (fabs(v[i]) > most) most = fabs(v[i]);
    }
    return most;
}
