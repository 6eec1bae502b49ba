/* What generated code and its callers share: its functions, their arguments, and how its steps are described. */

#ifndef PL_MODEL_H
#define PL_MODEL_H

#include <stdint.h>

#if defined(__GNUC__)
#define PL_INLINE static inline __attribute__((always_inline))
#define PL_APART __attribute__((noinline))
#else
#define PL_INLINE static inline
#define PL_APART
#endif

/* A function of loops that is compiled for wider vector registers too; which one runs is chosen when the library
   is loaded. Each number is computed by the same operations. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define PL_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PL_WIDE
#endif

#define PL_ABI 12
#define PL_STAGES 8 /* room for the stages of a method */

#if defined(PL_INSIDE) /* part of a library of its own, which shows other names */
#define PL_EXPORT
#elif defined(_WIN32)
#define PL_EXPORT __declspec(dllexport)
#else
#define PL_EXPORT __attribute__((visibility("default")))
#endif

/* Arguments of every generated function. c holds what depends on parameters only, v and iv are scratch. The
   derivative first calls update_w, where the system has delays or algebraic unknowns. */
typedef struct pl_args {
    double t;
    const double *x, *h, *w, *p, *c;
    double *v;
    long long *iv;
    void (*update_w)(void *owner, const struct pl_args *a);
    void *owner;
} pl_args;

typedef void (*pl_function)(const pl_args *a, double *out);

/* A row of a Runge-Kutta tableau without its zeros. */
typedef struct {
    int32_t count;
    int32_t place[PL_STAGES];
    double weight[PL_STAGES];
} pl_row;

/* What the runtime has to know of a method; its stages are in the generated code. */
typedef struct {
    int32_t number, stages, order, adaptive;
    pl_row error, dense;
} pl_method;

/* Steps of one size h in a row: the first begins at t, number j of the stretch ends at begin + (j + 1) h. */
typedef struct {
    double t, begin, h;
    int64_t first, count;
} pl_equal_steps;

/* Take them from x, until one ends where x1 is not finite. x is left where the last one began, k (stages, nx)
   and x1 are those of the last one. An adaptive method finds the first stage done, and takes one step at a
   time. Returns how many ended well. */
typedef int64_t (*pl_step)(const pl_args *a, const pl_equal_steps *w, double *x, double *k, double *x1);

/* A function of which single numbers are asked for. */
typedef struct {
    pl_function all;
    int32_t n_pieces;
    const pl_function *pieces; /* that together give all, in the order of their calls */
    /* Where there are several: which gives a number, and (n_pieces + 1,) those to call for a piece, itself last. */
    const int32_t *piece_of, *needs_start, *needs;
    const int32_t *states; /* (n_pieces, 2) states that a piece and those it needs read: from one to before the other */
} pl_parts;

/* A function whose numbers stay what they are until something changes that they read. */
typedef struct {
    int32_t n_pieces; /* 0: it gives none */
    const pl_function *pieces; /* that together give all, in the order of their calls */
    const int32_t *needs_start, *needs; /* (n_pieces + 1,) those to call for a piece, itself last */
    const int32_t *runs_start, *runs; /* (n_pieces + 1,) what a piece gives: places from the first to before the second */
    const int32_t *readers_start, *readers; /* (nh + 1,) pieces that read a place of h, or need one that does */
    const int32_t *restless; /* (n_pieces,) does it read more than h and p, or ask the host? */
    int32_t n_runs;
} pl_lasting;

/* The compiled functions of a system. */
typedef struct {
    int32_t abi;
    int32_t nx, nh, nw, np, nc, ny; /* lengths of x, h, w, p, c and of all signals together */
    int64_t nv, niv;                /* doubles and integers of scratch the functions need */
    pl_function prepare, derivative; /* c from p; (nx,) */
    const pl_step *steps;           /* by the method's number */
    const pl_lasting *accepted;     /* new values of accepted memories */
    /* Crossings that are equal have one place among n_places, in an order that suits the code; the first n_held_places
       depend on what is held only, moving_crossings gives the others: those that change inside a step. */
    const pl_parts *crossings; /* (n_places,), asked for by the numbers of events */
    const pl_lasting *held_crossings;
    pl_function moving_crossings;
    int32_t n_held_places, n_places;
    const int32_t *place_of;               /* (ne,) */
    const int32_t *event_start, *event_at; /* (n_places + 1,) the events of each place, in order */
    const pl_parts *crossing_rates, *resets; /* (ne,) along the derivative; new values, event by event */
    pl_function invariants, correction; /* (ni,); (nx,) what to add to the states to bring them back to zero */
    pl_function residual, starting; /* (nz,) zero at the unknowns, and its Jacobian (nz, nz); modes where a run starts */
    pl_function delayed, seconds; /* all signals whose past is needed; (nd,) how long ago */
    const pl_function *segments; /* new values of what a segment writes; the argument of an external one; for
                                    a loop its mismatch and the Jacobian in what it writes and the unknowns */
    const pl_function *signals; /* pieces, in order, that together give all signals */
    int32_t n_segments, n_pieces;
    pl_function unit_inputs; /* inputs of all units that step themselves, one after the other */
    int32_t n_corners;
    pl_function corners; /* (n_corners,) each zero at a corner of the derivative */
} pl_model;

/* The linearised derivative of a system as code of its own, which only stiff runs need. */
typedef struct {
    int32_t abi;
    int32_t nx, np, nc;
    int64_t nv, niv;
    pl_function prepare; /* c from p */
    pl_function values;  /* without colours all of J, then df/dt; else the rate along x[nx:], see pl_stiff */
} pl_jacobian;

/* The code of a system, and of its Jacobian: each in a library of its own. */
PL_EXPORT const pl_model *pl_get_model(void);
PL_EXPORT const pl_jacobian *pl_get_jacobian(void);

#endif
