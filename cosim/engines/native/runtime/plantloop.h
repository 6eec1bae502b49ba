/* The runtime of compiled systems: what it and its host share, with the headers below.

   A system has the vectors t, x, h, w, p of cosim/system.py. Generated code evaluates functions of them
   (struct pl_model, model.h); the tables that say what is called when, and where results go, are data (struct
   pl_system, tables.h); what changes in a run is the host's (struct pl_context). Nothing here is global or static and
   writable: any number of runs may go on at once, each with its own pl_run.

   C99, needs libm only. Formulas and their order of operations are those of cosim/engines/methods/steppers.py and
   reference.py: fixed-step runs of both engines agree bit for bit. Compile with -ffp-contract=off. */

#ifndef PLANTLOOP_H
#define PLANTLOOP_H

#include "fmu.h"
#include "model.h"
#include "tables.h"

#include <stddef.h>
#include <stdint.h>

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
    const int32_t *held;    /* (width,) where in h the same numbers are, so that nothing is evaluated; or null */
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
    PL_UNMET = 18,     /* invariant `index` cannot be met at t1 */
    PL_UNSETTLED = 19, /* what events of segments in a loop read there goes on changing: those of which `loop_fired` is 2 */
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

enum { PL_RODAS_STAGES = 6 };
enum { PL_NODES = 5, PL_POINTS = 7 }; /* of a quartic over a piece; its points: nodes, and two to check it at */

/* How the states of a body turn in the coordinates of one step: angular velocities of its attitude, of its place
   and velocity, the velocity of that screw at its place, and that place; its own, and how fast its axis turns. */
typedef struct {
    double turn[3], screw[3], drift[3], start[3], own[3], unsteady;
} pl_frame;

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
    int32_t turns;   /* does a body turn in the step at hand? */
    pl_frame *frames; /* (n_bodies,) */
    double *z, *z1;  /* (nx,) states of a stage; the end of the step in its own coordinates */
} pl_stiff;

/* What answers a call of generated code without the host; 1: the host is to be asked after all. */
typedef struct {
    int (*call)(const void *self, double *row);
    const void *self;
} pl_foreign;

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
    const pl_foreign *visits;  /* (n_segments,) what answers external segments; null: the host does */
    const double *const *numbers; /* tables that generated code looks things up in, by number */
    /* inputs that go along straight lines over the step whose past is recorded: places in h, and values at its ends */
    int32_t n_moving;
    const int32_t *moving;
    const double *moving_from, *moving_to;
    /* from here on private: where the run stands between two calls */
    int32_t phase, segment, arrived;
    int32_t again, rounds; /* segments are called once more, after events; calls of one that is repeated */
    double until, stop;
    double begin, h, t0, t1;
    int64_t n, i;
    double end;            /* of the step as integrated; t1 is earlier if a crossing lies in it */
    int32_t located;       /* that crossing, or -1 */
    int32_t which;         /* events of this part of an instant, see events.h */
    int32_t apart;         /* the invariant that is farthest from met after the last projection, or -1 */
    int32_t timed_segment; /* where that are timed ones: of this segment */
    int32_t loop_rounds;   /* so often events in loops were repeated at this instant; */
    int32_t *loop_fired;   /* (n_loops,) which have fired there, */
    double *loop_read;     /* and what they read then */
    int32_t corrected;     /* x1 was moved onto the invariants or to a crossing */
    int32_t end_known;     /* the derivative at the end is in f1 */
    /* x0, x1: ends of the step, integrated1: x1 as integrated, kept in unprojected where x1 is moved; y: all
       signals; prepared: the parameters c was made of; new_signs: of loud crossings where they were last looked at */
    double *x0, *x1, *integrated1, *unprojected, *k, *trial, *f1, *y, *prepared, *c, *scratch;
    double *new_signs, *newton;
    double points[2][PL_POINTS]; /* times of the newest two pieces of the search for crossings; */
    int32_t piece, n_points[2];  /* the newest one, and of how many points crossings are known */
    double *g, *g_rates; /* (n_places,) crossings where they were last looked at, and (n_events,) how those on zero move */
    double *side, *limit; /* (n_places,) its events are quiet where g side is above the limit */
    double *corners_before, *corners_behind, *corners_now; /* (n_corners,) at places of the step at hand */
    int32_t *candidate, *behind; /* is an event due, if none it depends on is? cycles that depend on those that are */
    int32_t *special, *wanted; /* numbers of those on zero; is a piece to be called? */
    int32_t *loud, n_loud; /* crossings that are not beyond their thresholds, on the sides that are stored */
    /* g and signs are those of all held, accepted memories have followed it, but for what stale pieces give; sides and
       limits are up to date */
    int32_t any_missed, held_known, accepted_known, sides_known;
    int32_t events_known; /* no event is due here: nothing has changed since that was looked at */
    int32_t *stale_crossings, *stale_accepted; /* (n_pieces,) has anything changed that they read? */
    int32_t *looked_at, n_looked_at; /* places of crossings that were looked at last, from one to before the next */
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
    double *reached;          /* (n_places,) largest |g| since an event of the place fired last */
    double *farthest;         /* (n_events,) but for that the largest |g| of a crossing since it fired last */
    double *largest;          /* (n_events,) largest |g| of a crossing since this advance began */
    double *missed;           /* (n_events,) |g| of those located at this instant: rounding left it; else 0 */
    int32_t *n_idle;          /* (n_events,) how often in a row it fired again without having left its threshold */
    double *resets;           /* new values of all that events reset */
    int32_t *reset_now, *reset_by; /* numbers of those that are due; event that resets a state, counted from 1 */
    pl_args a;
} pl_run;

/* Why pl_couple came back, besides the reasons of pl_advance. `unit` says which. */
enum {
    PL_UNITS_HOST = 100, /* the host is to make the next step of the coupling */
    PL_UNITS_FULL = 101, /* rows of a unit */
    PL_UNIT_STEP = 102,  /* the host is to make the step of a unit from its inputs on */
    PL_UNIT_STEPPED = 103, /* the host is to say what came of a step that gave `status` */
    PL_UNIT_GET = 104,   /* the host is to get the outputs, into `fresh` */
    PL_UNITS_ENDED = 105, /* a unit ends the run */
    PL_UNITS_NOT_FINITE = 106, /* inputs at `t1` */
    PL_UNIT_VISIT = 107, /* the host is to visit a unit: external segment `index` of the run */
    PL_UNITS_LEFT = 108  /* a unit has ended the run in its visit at `t1` */
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
    const int32_t *wires;    /* (n,) where all inputs are numbers of h or, behind those, p, which; -1: constants. Or null */
    const double *wire_adds; /* (n,) what is added to them: see CompiledMaster */
    const double **wired;    /* (n,) room for where these numbers are now */
    int32_t idle;            /* have our own blocks nothing to do but at ticks? */
    int32_t only_counts;     /* and there but to count them, which no unit reads? */
    int32_t begins_iterated; /* are steps iterated that units make without a past? */
    int32_t goes_back;       /* can all be rolled back here? else the host makes steps that are repeated */
    int32_t iterate;         /* 1: by substitution, 2: by Newton's method */
    int32_t controlled;      /* are macro steps chosen by their error? */
    double rtol, atol, size, horizon; /* tolerances over the horizon [s]; the step tried next [s] */
    const int32_t *adds_up;  /* (n,) of the signals that are looked at: does their error add up over a run? */
    const int32_t *watched;  /* (k,) of all outputs and inputs: do jumps in them matter? */
    double *iterated, *tried;  /* room for iterated steps, (8 n + 2 n^2,) of n outputs; for error control (6 k,) of k
                                  outputs and inputs */
    int32_t single;            /* do units round to single precision? */
    int32_t n_outputs;
    int32_t n_direct;          /* of controlled steps, units whose outputs follow inputs at once: */
    const int32_t *direct;     /* (n_direct,) their numbers, those first that others depend on */
    const pl_foreign *visits; /* (n_segments,) of the system: units with event mode; null: there are none */
    int32_t with_events;     /* has any unit event mode? */
    int64_t macro_steps, rounds, rejected;
    pl_kept kept[PL_LEVELS];
    double t1;
    int32_t unit;
    /* private */
    int32_t phase, place, quiet, ours_done;
    int64_t events, instants;
    double begun; /* s, where the step began */
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
PL_EXPORT void pl_copy_block(double *to, const double *from, int64_t n, const int32_t *moved, int32_t n_moved);
PL_EXPORT int pl_initialise_fmu(const void *self, const pl_fmu_call *event, const double *row); /* 0: it may be asked */
PL_EXPORT int pl_visit(const void *self, double *row); /* a `pl_foreign` whose self is a pl_fmu_unit; arguments, outputs */
PL_EXPORT int pl_couple(pl_coupling *m, double until);
PL_EXPORT void pl_couple_back(pl_coupling *m); /* our own blocks to where the step began */
PL_EXPORT double pl_next_stop(const pl_run *r);  /* time of the next tick or listed instant, or infinity */
PL_EXPORT int64_t pl_run_batch(pl_run *r, const pl_batch *b, int64_t first, int64_t end, int again);
PL_EXPORT void pl_evaluate_signals(pl_run *r, const pl_buffer *b, double *row); /* present values */

#endif
