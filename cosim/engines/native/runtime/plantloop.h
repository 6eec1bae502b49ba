/* The runtime of compiled systems: what generated code, the runtime and its host share.

   A system has the vectors t, x, h, w, p of cosim/system.py. Generated code evaluates functions of them
   (struct pl_model); the tables that say what is called when, and where results go, are data (struct
   pl_system); what changes in a run is the host's (struct pl_context). Nothing here is global or static and
   writable: any number of runs may go on at once, each with its own pl_run.

   C99, needs libm only. Formulas and their order of operations are those of cosim/engines/methods/steppers.py and
   reference.py: fixed-step runs of both engines agree bit for bit. Compile with -ffp-contract=off. */

#ifndef PLANTLOOP_H
#define PLANTLOOP_H

#include <stddef.h>
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

#define PL_ABI 7
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
} pl_parts;

/* The compiled functions of a system. */
typedef struct {
    int32_t abi;
    int32_t nx, nh, nw, np, nc, ny; /* lengths of x, h, w, p, c and of all signals together */
    int64_t nv, niv;                /* doubles and integers of scratch the functions need */
    pl_function prepare, derivative; /* c from p; (nx,) */
    const pl_step *steps;           /* by the method's number */
    pl_function accepted;           /* new values of accepted memories */
    const pl_parts *crossings;      /* (ne,) */
    pl_function moving_crossings;   /* those that change inside a step: others depend on what is held only */
    int32_t n_moving;
    const int32_t *moving; /* stretches of their numbers, from the first to before the second of each pair */
    const pl_parts *crossing_rates, *resets; /* (ne,) along the derivative; new values, event by event */
    pl_function invariants, correction; /* (ni,); (nx,) what to add to the states to bring them back to zero */
    pl_function residual, starting; /* (nz,) zero at the unknowns, and its Jacobian (nz, nz); modes where a run starts */
    pl_function delayed, seconds; /* all signals whose past is needed; (nd,) how long ago */
    const pl_function *segments; /* new values of what a segment writes; the argument of an external one; for
                                    a loop its mismatch and the Jacobian in what it writes and the unknowns */
    const pl_function *signals; /* pieces, in order, that together give all signals */
    int32_t n_segments, n_pieces;
    pl_function unit_inputs; /* inputs of all units that step themselves, one after the other */
} pl_model;

enum { PL_OUTPUT = 0, PL_UPDATE = 1, PL_EXTERNAL = 2, PL_SOLVE = 3, PL_REPEAT = 4 };

/* Tables of a system: who ticks when, and where values go. All arrays belong to the host. */
typedef struct {
    int64_t grid; /* ticks fall on multiples of 1/grid s */
    int32_t n_rates, n_segments, n_instants, n_lists, n_accepted, n_invariants, n_events;
    int32_t n_draws, n_starting, n_unknowns, n_delays, n_rounding, n_again;
    int32_t n_controlled;                              /* the first states, whose errors choose the steps */
    const int64_t *first, *period;                     /* (n_rates,) on the grid */
    const int32_t *time_place, *count_place, *fresh_place; /* (n_rates,) in h */
    const int32_t *discrete_start, *discrete;          /* discrete states of a rate: places in h */
    const int32_t *segment_kind, *segment_rate;        /* (n_segments,); rate -1: at every instant */
    const int32_t *segment_again;                      /* (n_segments,) once more after the events of an instant? */
    const int32_t *segment_asked;                      /* (n_segments,) called only if this place in h is 1; -1: always */
    const int32_t *segment_limit;                      /* (n_segments,) calls at one instant, of one that is repeated */
    const int32_t *segment_start, *segment_writes;     /* places in h (next) */
    const int32_t *segment_size;                       /* numbers its function returns */
    const double *instant_time;                        /* (n_instants,) s, in order */
    const int32_t *instant_list, *instant_place;       /* (n_instants,) whose it is; its place in h */
    const int32_t *accepted;                           /* places in h */
    const double *nominal;                             /* (nx,) */
    const double *tolerance;                           /* (n_invariants,) */
    const double *rounding;                            /* (nx,) times what a last digit changes is no error; of
                                                          n_rounding states it is not 0 */
    const int32_t *starting;                           /* (n_starting,) places in h */
    const int32_t *direction;                          /* (n_events,) of a crossing: -1, 1, or 0 for both */
    const double *threshold;                           /* (n_events,) |g| up to this counts as on it */
    const int32_t *rest;                               /* (n_events,) sign of a crossing at rest on zero */
    const int32_t *eager;                              /* (n_events,) does it fire where a run starts beyond it? */
    const int32_t *ends;                               /* (n_events,) does it end the run? */
    const int32_t *anew_start, *anew;                  /* events for which nothing that its resets do is a crossing */
    const int32_t *reset_start, *reset_places;         /* what an event resets: places in h, or -1 - place in x */
    const int32_t *renewed_start, *renewed;            /* discrete states among them, whose next follows */
    const uint64_t *draw_stream;                       /* (n_draws,) substream */
    const int32_t *draw_rate, *draw_normal, *draw_start, *draw_places; /* random draws, and where they go */
    const int32_t *draw_counter;                       /* (n_draws,) place in h of how many so far, -1: the rate's ticks */
    const int32_t *delay_start, *delay_places;         /* (n_delays + 1,) places in w of delayed signals */
    const double *delay_initial;                       /* their values before there is a past */
    const double *delay_shortest, *delay_longest;      /* s, ends of the delays that change; 0 where one does not */
} pl_system;

/* How to integrate. */
typedef struct {
    pl_method method;
    double step, rtol, atol, max_step;
    double most_steps;        /* that the rest of a run may take at its present pace; 0: any number */
    int64_t looked_at;        /* steps in a row that give the pace */
    double longest_unwatched; /* [s] between two looks at crossings in a system without continuous states */
    uint64_t seed;
    int32_t in_time; /* a crossing depends on t other than through states: step control cannot see it */
} pl_settings;

/* The past of a delayed signal: a quartic through five points of every step, at most `capacity` of them. */
typedef struct {
    double *starts, *ends, *values; /* (capacity,), (capacity,), (capacity, 5, size) */
    int64_t count, capacity;
} pl_history;

/* All that changes; lives in the host's memory, a copy of it is a snapshot. */
typedef struct {
    double t, step, error;
    double origin; /* time from which ticks are counted [s]: 0, or where an exported unit was started */
    double *x, *h, *w, *p, *next, *signs, *solution;
    int64_t *ticks, *instants; /* (n_rates,), (n_lists,) */
    int32_t started, stopped; /* stopped: the event that ended the run, counted from 1, or 0 */
    pl_history *histories; /* (n_delays,) */
    double *stops;         /* (stops_capacity,) where delayed jumps come out [s], in order */
    int64_t n_stops, stops_capacity;
} pl_context;

/* A buffer of the host for rows of numbers; the first column is the time. */
typedef struct {
    double *rows;
    int64_t count, capacity;
    int64_t taken;          /* rows before those, which the host has */
    int32_t width;          /* columns after the time */
    const int32_t *places;  /* (width,) in the vector of all signals, x, h and p, one behind the other */
    int32_t n_pieces, n_inner;
    const int32_t *pieces;  /* pieces of the signals these places need, in order */
    const int32_t *inner;   /* (n_inner,) those of the places that are behind the signals */
} pl_buffer;

/* Events as they happen, one after the other: time, event, what it resets before and after. */
typedef struct {
    double *values; /* null: they are not kept */
    int64_t used, capacity;
} pl_event_log;

/* What to keep. With every_step set, times is not used. */
typedef struct {
    int32_t every_step;
    const double *times;
    int64_t n_times, position;
    pl_buffer log;
    pl_buffer *ticks; /* (n_rates,) */
    pl_event_log events;
} pl_log;

/* Why pl_advance came back. PL_DONE ends it; the others ask for something and to be called again. */
enum {
    PL_DONE = 0,
    PL_FULL = 1,       /* the log's buffer is full */
    PL_FULL_TICKS = 2, /* the tick buffer of rate `index` is full */
    PL_PAUSE = 3,      /* the budget of steps is spent */
    PL_CALL = 4,       /* external segment `index`: its argument is in `out` */
    PL_CANCELLED = 5,
    PL_NOT_FINITE = 6, /* segment `index`, or one of the places below */
    PL_COLLAPSED = 7,  /* step size; state `index` limits it; `value` is its error */
    PL_CHATTERING = 8,    /* the `n_fired` events in `fired` follow each other without end */
    PL_CONFLICT = 9,   /* event `index` resets a state that event `other` resets at the same instant */
    PL_NO_SIGN = 10,   /* crossing `index` is not finite */
    PL_NO_SOLUTION = 11, /* of an algebraic loop: see unsolved_time, unsolved_segment; the states in unprojected */
    PL_FULL_HISTORY = 12, /* histories or stops of delays are too short for a step more */
    PL_NO_DELAY = 13,  /* a delay is not positive */
    PL_FULL_EVENTS = 14, /* the log of events is too short for those of this instant */
    PL_NO_LAST_ROUND = 15, /* segment `index` is repeated without end */
    PL_ENDLESS = 17,   /* steps are so small that the rest takes too many; the last ones began at pace_since */
    PL_APPROACHED = 16 /* at an instant from the left, as asked for: called again, everything due there happens.
                          `index`: the crossing that was located there, or -1 */
};

/* Which instants a run comes back at from the left: `until`, or any at which something happens */
enum { PL_APPROACH_END = 1, PL_APPROACH_ANY = 2 };

/* Places of PL_NOT_FINITE: a step from (t0, x0) with size h; the context's own state; a reset of event `other` */
enum { PL_IN_STEP = -1, PL_AT_STATE = -2, PL_IN_RESET = -3 };

typedef struct {
    int64_t steps, rejected, evaluations, events;
    int64_t *limited_by; /* (nx,) */
    int64_t refused_by;  /* state whose error was the largest in the newest step that was tried in vain, or -1 */
} pl_counters;

/* The linearised derivative of a system as code of its own, which only stiff runs need. */
typedef struct {
    int32_t abi;
    int32_t nx, np, nc;
    int64_t nv, niv;
    pl_function prepare; /* c from p */
    pl_function values;  /* without colours all of J, then df/dt; else the rate along x[nx:], see pl_stiff */
} pl_jacobian;

enum { PL_RODAS_STAGES = 6 };

/* The stiff method: its coefficients, where the numbers of the Jacobian J go, and room for them. The places of
   J are those of cosim/engines/methods/stiff.py. */
typedef struct {
    const pl_jacobian *code;
    double gamma, alpha[PL_RODAS_STAGES], d[PL_RODAS_STAGES];
    double a[PL_RODAS_STAGES][PL_RODAS_STAGES], stages[PL_RODAS_STAGES][PL_RODAS_STAGES];
    double dense_weights[2][PL_RODAS_STAGES];
    int32_t n_colours;                             /* groups of columns that share no row; 0: all come at once */
    int32_t sparse;                                /* factor on the pattern lu_* */
    int32_t pivoted;                               /* the factors at hand are the dense ones */
    const int32_t *column_start, *rows;            /* pattern of J, column after column */
    const int32_t *colour_start, *colour_columns;  /* columns of a group */
    const int32_t *order;                          /* (nx,) state eliminated at each place */
    const int32_t *lu_start, *lu_column;           /* pattern of L and U in one, row after row */
    const int32_t *lu_diagonal, *lu_place;         /* places of the diagonal and of J's numbers in it */
    double *c, *v;                                 /* constants and scratch of the code */
    long long *iv;
    double *seed, *jacobian, *slope, *work, *factors, *dense;
    int32_t *pivots;
} pl_stiff;

/* What answers a call of generated code without the host; 1: the host is to be asked after all. */
typedef struct {
    int (*call)(const void *self, double *row);
    const void *self;
} pl_foreign;

/* Types of values of an FMU in C. */
enum { PL_FMU_DOUBLE = 0, PL_FMU_FLOAT, PL_FMU_INT, PL_FMU_INT_BOOL, PL_FMU_BOOL, PL_FMU_INT8, PL_FMU_UINT8,
       PL_FMU_INT16, PL_FMU_UINT16, PL_FMU_UINT32, PL_FMU_INT64, PL_FMU_UINT64,
       PL_FMU_IN_PLACE /* doubles, in the row itself */ };

/* Values of an FMU that one call of a getter or setter exchanges. */
typedef struct {
    void *function;
    const uint32_t *references; /* (n,) */
    int64_t n, total;
    void *values;               /* (total,) as the FMU has them */
    int32_t kind;
    const int32_t *places;      /* (total,) in the row of a call, or behind its arguments */
    const double *items;        /* numbers of enumerations, 0: of no such type */
    const int32_t *items_from;  /* (total + 1,) where those of each value begin among them; none: all are allowed */
} pl_fmu_batch;

struct pl_fmu_call;

/* An FMU for model exchange, with the functions of FMI 2.0 or 3.0 that are called between events and in them. */
typedef struct {
    void *component;
    int32_t version, ready; /* not ready: the host does all */
    int32_t nx, np, nz;
    void *set_time, *set_states, *get_states, *derivatives, *indicators, *completed;
    void *enter_event_mode, *update, *enter_continuous;
    double t, *x, *p;       /* as it was told last; nan: not known */
    const struct pl_fmu_call *told; /* whose inputs it has */
    int64_t asked;          /* how often it asked for an event after a step */
    int32_t terminated;
} pl_fmu;

enum { PL_FMU_DERIVATIVES = 0, PL_FMU_INDICATORS = 1, PL_FMU_OUTPUTS = 2, PL_FMU_EVENT = 3, PL_FMU_COMPLETED = 4 };

/* One function of an FMU: in a row are t, states, `width` inputs, parameters, then results. */
typedef struct pl_fmu_call {
    pl_fmu *fmu;
    int32_t what, width;
    int32_t parameters, request, results; /* places in the row; the count of events stands before request */
    int32_t n_inputs, n_all, n_outputs;
    const pl_fmu_batch *inputs;  /* that may be set at any time */
    const pl_fmu_batch *all;     /* that are set in event mode */
    const pl_fmu_batch *outputs; /* their places count from `results` */
    double *inputs_told;         /* (width,) */
    double *event;               /* the newest event: its row */
} pl_fmu_call;

/* One run. The host sets what it points to; the rest is the runtime's own. */
typedef struct {
    const pl_model *model;
    const pl_system *system;
    pl_settings *settings;
    pl_context *context;
    pl_log *log;
    pl_stiff *stiff;       /* null for explicit methods */
    pl_counters counters;
    int64_t budget;        /* steps until PL_PAUSE */
    volatile int32_t cancel;
    int32_t approach;      /* come back before what happens at an instant: PL_APPROACH_END, PL_APPROACH_ANY, or 0 */
    int32_t index, other;  /* see the reasons above */
    double value, last_good, unsolved_time;
    int32_t unsolved, unsolved_segment; /* an algebraic loop had no solution; segment -1: unknowns of w */
    int32_t n_fired;       /* events due at this instant, */
    int32_t *fired;        /* and which */
    double *out;           /* room for what a segment returns */
    /* Functions of the host that generated code calls by number; not 0 if one failed. A row is all arguments, one
       after the other, then room for all results. */
    int (*host_function)(void *host, int32_t number, double *row);
    void *host;
    const pl_foreign *foreign; /* by number what answers instead; null where nothing does */
    /* from here on private: where the run stands between two calls */
    int32_t phase, segment, arrived;
    int32_t again, rounds; /* segments are called once more, after events; calls of one that is repeated */
    double until, stop;
    double begin, h, t0, t1;
    int64_t n, i;
    double end;            /* of the step as integrated; t1 is earlier if a crossing lies in it */
    int32_t located;       /* that crossing, or -1 */
    int32_t corrected;     /* x1 was moved onto the invariants or to a crossing */
    int32_t end_known;     /* the derivative at the end is in f1 */
    /* x0, x1: ends of the step, integrated1: x1 as integrated, kept in unprojected where x1 is moved; y: all
       signals; prepared: the parameters c was made of; new_signs: of crossings where they were last looked at */
    double *x0, *x1, *integrated1, *unprojected, *k, *trial, *f1, *y, *prepared, *c, *scratch;
    double *new_signs, *newton;
    double *g, *g_rates; /* (n_events,) crossings where they were last looked at, and how those on zero move: */
    int32_t *special, *wanted, every_crossing[2]; /* their numbers; is a piece to be called? */
    int32_t any_missed, any_anew, held_known, quiet; /* g and signs are those of all held; none is on zero or beyond */
    int32_t *due;
    long long *iv;
    double horizon;        /* end of the stretch under way: delayed jumps there belong to the next one */
    double shortest_delay;
    double *delay_seconds, *delay_samples; /* (n_delays,); delayed signals at the points of a piece */
    int32_t *refined;      /* histories whose piece is halved, by depth */
    int32_t round, n_dense;   /* of event iteration; rounds so far in the short window that began at... */
    double dense_since;       /* ...this time [s] */
    double pace_since;        /* time [s] and... */
    int64_t pace_steps;       /* ...number of steps since which the pace of a run is looked at; nan: none yet */
    double *farthest;         /* (n_events,) largest |g| of a crossing since it fired last */
    double *largest;          /* (n_events,) largest |g| of a crossing since this advance began */
    double *missed;           /* (n_events,) |g| of those located at this instant: rounding left it; else 0 */
    int32_t *n_idle;          /* (n_events,) how often in a row it fired again without having left its threshold */
    double *resets;           /* new values of all that events reset */
    int32_t *reset_now, *reset_by; /* numbers of those that are due; event that resets a state, counted from 1 */
    pl_args a;
} pl_run;

enum { PL_SAMPLES = 3 }; /* that a quadratic needs */

/* Signals at communication points, the newest first: (count, n) values. */
typedef struct {
    int32_t n, count, most; /* kept are the newest `most` */
    double time[PL_SAMPLES];
    double *values; /* (PL_SAMPLES, n) */
} pl_samples;

/* A unit at one instant, to go back to. */
typedef struct {
    void **state;      /* of the FMU, in its own memory */
    double *values;    /* samples of inputs, then of outputs */
    double u_time[PL_SAMPLES], out_time[PL_SAMPLES], time, next;
    int32_t n_u, n_out;
    int64_t points, count;
} pl_kept_unit;

enum { PL_LEVELS = 2 }; /* where a step of error control began; and the step that is iterated in it */

/* An FMU for co-simulation as a unit of a master. */
typedef struct {
    void *component;
    int32_t version, slopes;   /* of FMI; highest derivative of inputs that it takes over a step */
    int32_t n_set, n_get, n_bent;
    const pl_fmu_batch *set, *get; /* places in its inputs and outputs */
    void *do_step, *set_derivatives;
    void *event, *terminate, *early; /* FMI 3.0: what a step answers, */
    double *last;                    /* and where it got */
    const uint32_t *bent;            /* (2 n_bent,) FMI 2.0: inputs that take derivatives, twice, */
    const int32_t *bent_orders, *bent_places; /* (2 n_bent,), (n_bent,) and their places among the inputs */
    double *bent_values;             /* (2 n_bent,) */
    double *asked; /* FMI 3.0: where the host looks when it is asked for inputs in a step: is there a curve; did it
                      fail; the time at which the curve begins, its value, slope and curvature */
    const int32_t *smooth_inputs, *smooth_outputs, *late; /* may be extrapolated; inputs that follow our states */
    const int32_t *y, *slope, *curvature; /* places in h of its outputs; without slopes they are held */
    int32_t since, start;            /* place in h of the time they count from; its first input among all */
    int64_t first, period;           /* communication points on the grid */
    int64_t points;                  /* so many are reached */
    double time, next;               /* s; nan: not known yet */
    pl_samples u, out;
    double *assumed;                 /* (n,) inputs at the end of the step under way */
    double *value, *bend, *curve;    /* (n,) inputs over it: value + bend s + curve s^2 / 2 */
    double *fresh;                   /* (m,) outputs at its end */
    double end, reached;             /* of the step under way */
    int32_t status, ended, has_fresh, arriving;
    double *rows;                    /* (capacity, 1 + 2 n) t, inputs assumed, delivered */
    int64_t count, capacity;
    int32_t goes_back;               /* is it to save and restore its state? */
    int32_t part;                    /* its first output among all of an iterated step */
    void *get_state, *set_state, *free_state;
    pl_kept_unit kept[PL_LEVELS];
} pl_fmu_unit;

/* Why pl_couple came back, besides the reasons of pl_advance. `unit` says which. */
enum {
    PL_UNITS_HOST = 100, /* the host is to make the next step of the coupling */
    PL_UNITS_FULL = 101, /* rows of a unit */
    PL_UNIT_STEP = 102,  /* the host is to make the step of a unit from its inputs on */
    PL_UNIT_STEPPED = 103, /* the host is to say what came of a step that gave `status` */
    PL_UNIT_GET = 104,   /* the host is to get the outputs, into `fresh` */
    PL_UNITS_ENDED = 105, /* a unit ends the run */
    PL_UNITS_NOT_FINITE = 106 /* inputs at `t1` */
};

/* Our own blocks at one instant, to go back to. */
typedef struct {
    double *values;      /* of the context, then counts */
    pl_context context;
    int64_t position, events;
    int64_t *logged;     /* (1 + n_rates,) rows by then: in all, and of each rate */
    int32_t whole;       /* not only what changes where they have nothing to do */
} pl_kept;

/* A co-simulation master: units, and our own blocks as one of them. */
typedef struct {
    pl_run *run;
    pl_fmu_unit *units;
    int32_t n_units, n_inputs, order, newest, n_sequence; /* extrapolation; do who comes later get the newest values? */
    const int32_t *sequence; /* (n_sequence,) numbers of units, -1: our own blocks */
    int64_t grid;
    double *inputs;          /* (n,) of all units */
    int32_t idle;            /* have our own blocks nothing to do but at ticks? */
    int32_t begins_iterated; /* are steps iterated that units make without a past? */
    int32_t goes_back;       /* can all be rolled back here? else the host makes steps that are repeated */
    int32_t iterate;         /* 1: by substitution, 2: by Newton's method */
    int32_t controlled;      /* are macro steps chosen by their error? */
    double rtol, atol, size, horizon; /* tolerances over the horizon [s]; the step tried next [s] */
    const int32_t *adds_up;  /* (n,) of the signals that are looked at: does their error add up over a run? */
    double *iterated, *tried;  /* room for iterated steps, (8 n + 2 n^2,) of n outputs; for error control (5 k,) */
    int32_t n_outputs;
    int64_t macro_steps, rounds, rejected;
    pl_kept kept[PL_LEVELS];
    double t1;
    int32_t unit;
    /* private */
    int32_t phase, place, quiet, ours_done;
    int64_t events, instants;
} pl_coupling;

/* Many runs of one system from t = 0, each with numbers of its own; row i belongs to run i. */
typedef struct {
    double until;
    const double *x, *h, *w, *p; /* (runs, nx), ... initial values and parameters */
    const uint64_t *seed;
    int64_t capacity; /* rows of a run: n_times, and one more where an event may stop it */
    double *rows;     /* (runs, capacity, 1 + width) what is logged */
    int64_t *logged;  /* (runs,) rows written */
    int32_t *stopped; /* (runs,) the event that ended it, counted from 1, or 0 */
    double *ended;    /* (runs,) s, where it stands */
    int32_t *reason; /* (runs,) PL_DONE, or why a run needs the host */
} pl_batch;

/* The code of a system, and of its Jacobian: each in a library of its own. */
PL_EXPORT const pl_model *pl_get_model(void);
PL_EXPORT const pl_jacobian *pl_get_jacobian(void);

PL_EXPORT int pl_abi(void);
PL_EXPORT size_t pl_size_of_run(void);           /* so that a host can check its own declaration */
PL_EXPORT size_t pl_workspace_size(const pl_model *m, const pl_system *s); /* bytes, aligned to 16 */
PL_EXPORT void pl_instantiate(pl_run *r, void *workspace); /* lay out the private arrays in it */
PL_EXPORT int pl_advance(pl_run *r, double until);
PL_EXPORT void pl_reset(pl_run *r);              /* forget where an interrupted advance stood */
PL_EXPORT double pl_seconds(int64_t position, int64_t grid); /* position on a grid of 1/grid s, rounded once */
PL_EXPORT void pl_approached(pl_run *r, int located); /* once more before what happens here: at a crossing, or -1 */
PL_EXPORT void pl_end_here(pl_run *r);           /* a run that was ended from outside: the next advance logs its end */
PL_EXPORT int pl_ask_fmu(const void *self, double *row); /* a `pl_foreign` whose self is a pl_fmu_call */
PL_EXPORT int pl_couple(pl_coupling *m, double until);
PL_EXPORT void pl_couple_back(pl_coupling *m); /* our own blocks to where the step began */
PL_EXPORT double pl_next_stop(const pl_run *r);  /* time of the next tick or listed instant, or infinity */
PL_EXPORT int64_t pl_run_batch(pl_run *r, const pl_batch *b, int64_t first, int64_t end, int again);
PL_EXPORT void pl_evaluate_signals(pl_run *r, const pl_buffer *b, double *row); /* present values */

#endif
