/* A first-order lag x' = u - x as an FMU for co-simulation of FMI 2.0, as cheap as can be: what its calls cost is
   little beside what calls them costs. With -DALONE a program that times its calls from C. */

#include <math.h>
#include <stdlib.h>

typedef struct {
    double u, x, h, q;
} lag;

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
EXPORT void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *where, const void *functions,
                             int visible, int log)
{
    (void)name, (void)kind, (void)guid, (void)where, (void)functions, (void)visible, (void)log;
    return calloc(1, sizeof(lag));
}
EXPORT void fmi2FreeInstance(void *c) { free(c); }
EXPORT int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *names)
{
    (void)c, (void)on, (void)n, (void)names;
    return 0;
}
EXPORT int fmi2SetupExperiment(void *c, int has, double tolerance, double start, int ends, double stop)
{
    (void)c, (void)has, (void)tolerance, (void)start, (void)ends, (void)stop;
    return 0;
}
EXPORT int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
EXPORT int fmi2ExitInitializationMode(void *c) { (void)c; return 0; }
EXPORT int fmi2Terminate(void *c) { (void)c; return 0; }
EXPORT int fmi2Reset(void *c) { *(lag *)c = (lag){0}; return 0; }

static double *variable(lag *l, unsigned reference) { return reference == 1 ? &l->u : &l->x; }

EXPORT int fmi2SetReal(void *c, const unsigned *vr, size_t n, const double *v)
{
    for (size_t k = 0; k < n; k++) *variable(c, vr[k]) = v[k];
    return 0;
}
EXPORT int fmi2GetReal(void *c, const unsigned *vr, size_t n, double *v)
{
    for (size_t k = 0; k < n; k++) v[k] = *variable(c, vr[k]);
    return 0;
}
EXPORT int fmi2DoStep(void *c, double t, double h, int back)
{
    lag *l = c;
    (void)t, (void)back;
    if (fabs(h - l->h) > 1e-9 * h) l->h = h, l->q = exp(-h);
    l->x = l->q * l->x + (1 - l->q) * l->u;
    return 0;
}

#ifdef ALONE
#include <stdio.h>
#include <time.h>

/* With an argument in the order of Gauss and Seidel: b is given what a has reached. */
int main(int count, char **words)
{
    (void)words;
    /* through pointers, as a master has them */
    int (*volatile set)(void *, const unsigned *, size_t, const double *) = fmi2SetReal;
    int (*volatile get)(void *, const unsigned *, size_t, double *) = fmi2GetReal;
    int (*volatile step)(void *, double, double, int) = fmi2DoStep;
    const unsigned u = 1, y = 2;
    const int n = 2000000;
    double best = INFINITY, last = 0.0;

    for (int round = 0; round < 8; round++) {
        lag *a = calloc(1, sizeof(lag)), *b = calloc(1, sizeof(lag));
        struct timespec t0, t1;
        double ya = 1.0, yb = 0.0;
        a->x = 1.0;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
        for (int k = 0; k < n; k++) {
            set(a, &u, 1, &yb);
            if (count > 1) {
                step(a, 0.01 * k, 0.01, 0), get(a, &y, 1, &ya);
                set(b, &u, 1, &ya), step(b, 0.01 * k, 0.01, 0);
            } else {
                set(b, &u, 1, &ya);
                step(a, 0.01 * k, 0.01, 0), step(b, 0.01 * k, 0.01, 0);
                get(a, &y, 1, &ya);
            }
            get(b, &y, 1, &yb);
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
        const double spent = ((double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec)) / n;
        if (spent < best) best = spent;
        last = ya;
        free(a), free(b);
    }
    printf("%.9g %.17g\n", best, last);
    return 0;
}
#endif
