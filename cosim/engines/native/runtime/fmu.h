/* FMUs whose functions C code calls itself: values, calls for model exchange, and units that step themselves. */

#ifndef PL_FMU_H
#define PL_FMU_H

#include <stdint.h>

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
    int32_t begun;          /* has the event at the start been handled? */
    int32_t nx, np, nu, nz;
    void *setup, *enter_initialization, *exit_initialization; /* the first only in FMI 2.0 */
    void *set_time, *set_states, *get_states, *derivatives, *indicators, *completed;
    void *enter_event_mode, *update, *enter_continuous;
    double t, *x, *p;       /* as they were set last; nan: not known */
    const double *start;    /* of a run that begins as it was initialised, */
    double *inputs_given;   /* and its inputs */
    double clock;             /* s; its time is that of the run and this */
    double stop;              /* s; when the run ends, as it is told; nan: not known */
    double stands_from, next; /* s; the newest event, and the one it announced, on its clock */
    double reached;           /* s; where its newest step or event ended, on its clock */
    const struct pl_fmu_call *set_by; /* whose inputs it has */
    int64_t asked;          /* how often it asked for an event after a step */
    int32_t terminated;
    int32_t in_event;       /* an event failed half-way: the host goes on in event mode */
    int32_t stays;          /* in event mode since its newest event, at t with x, which may go on; 2: the one at the start */
    int32_t initialised;    /* PL_FMU_BY_HOST and so on */
    int32_t refused;        /* the call that it refused while it was initialised, and what it returned */
    int32_t status;
} pl_fmu;

/* Who initialises an FMU: the host; compiled code may; it has; it has, to other states than the run begins with, or it is
   not ready for other reasons; it has begun to, and the host is to do so anew. */
enum { PL_FMU_BY_HOST = 0, PL_FMU_MAY = 1, PL_FMU_DONE = 2, PL_FMU_OTHERWISE = 3, PL_FMU_ANEW = 4 };
enum { PL_REFUSED_NONE = 0, PL_REFUSED_SETUP = 1, PL_REFUSED_ENTER = 2, PL_REFUSED_EXIT = 3, PL_REFUSED_UPDATE = 4,
       PL_REFUSED_CONTINUOUS = 5 };

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
    double *inputs_set;         /* (width,) */
    double *event;               /* the newest event: its row */
} pl_fmu_call;

/* How far the host finds an event of a unit; and the call that made it be asked. */
enum { PL_EVENT_NONE = 0, PL_EVENT_ENTERED = 1, PL_EVENT_OVER = 2 };
enum { PL_FAILED_NONE = 0, PL_FAILED_STEP = 1, PL_FAILED_ENTER = 2, PL_FAILED_UPDATE = 3, PL_FAILED_LEAVE = 4 };

/* Event mode of FMI 3.0, of a unit that steps itself. */
typedef struct {
    void *enter, *update, *leave; /* EnterEventMode, UpdateDiscreteStates, EnterStepMode */
    int32_t any_step, visits;     /* does it take steps of any length? is it visited at its points? */
    int32_t clocks;               /* clocks tick in its events, which the host handles */
    int32_t in_loop, stays;       /* does it handle events where it arrives though it is visited? in event mode since */
    int32_t n_free, n_free_at, n_given, n_triggers;
    const pl_fmu_batch *free;     /* inputs that are set in events; places among all inputs */
    const int32_t *free_at, *given; /* (n_free_at,), (n_given,) places of those, and of what a visit gives */
    const int32_t *triggers;      /* (n_triggers,) places of the numbers of clocks among all inputs, */
    const double *levels;         /* and where they stood last */
    double *last, *room;          /* (n,) all inputs as they were set last; (n + m,) */
    const double *now;            /* s, where our own blocks stand */
    double next;                  /* s of its own clock, of the next event it announced, or tick; infinity: none */
    double at, stop;              /* s of its own clock: where it stands in a step, where its newest call was to end */
    int32_t wanted;               /* has that call asked for an event? */
    int32_t changed;              /* did its continuous states jump in events of this step? */
    int32_t jumped;               /* did its continuous outputs, in its newest step or the visit behind it? */
    int32_t stage, failed;
} pl_fmu_events;

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
    double event;      /* s, see pl_fmu_events.next; */
    int32_t wanted;    /* and this: the inputs `last` stand behind the samples */
    int32_t ended;
    int32_t n_u, n_out;
    int64_t points, count;
} pl_kept_unit;

enum { PL_LEVELS = 2 }; /* where a step of error control began; and the step that is iterated in it */

/* Rows of the quality of a coupling: whole; what was assumed is what the row before delivered, or what this one does. */
enum { PL_ROW_WHOLE = 0, PL_ROW_HELD = 1, PL_ROW_MET = 2 };

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
                      fail; the time of the FMU at which the curve begins, its value, slope and curvature */
    const int32_t *smooth_inputs, *smooth_outputs, *late; /* may be extrapolated; inputs that follow our states */
    const int32_t *y, *slope, *curvature; /* places in h of its outputs; without slopes they are held */
    int32_t since, start;            /* place in h of the time they count from; its first input among all */
    int64_t first, period;           /* communication points on the grid */
    int64_t points;                  /* so many are reached */
    double time, next;               /* s; nan: not known yet */
    double clock;                    /* s; the time of the FMU is that of the run and this */
    pl_samples u, out;
    double *assumed;                 /* (n,) inputs at the end of the step under way */
    double *value, *bend, *curve;    /* (n,) inputs over it: value + bend s + curve s^2 / 2 */
    double *fresh;                   /* (m,) outputs at its end */
    double end, reached;             /* of the step under way */
    int32_t status, ended, has_fresh, arriving;
    double *rows;                    /* of each step t, inputs assumed, delivered: 1 + 2 n numbers; of kinds that say
                                        what was assumed, the n delivered */
    uint8_t *kind;                   /* (capacity,) of each row */
    int64_t count, used, capacity;   /* rows, numbers in them */
    int32_t goes_back;               /* is it to save and restore its state? */
    int32_t part;                    /* its first output among all of an iterated step */
    int32_t in_pieces;               /* does it follow curves in two steps if it takes no slopes? */
    double inner;                    /* s; not where these are shorter than its own */
    const int32_t *direct;           /* (n,) inputs that outputs follow at once; null: not known */
    void *get_state, *set_state, *free_state;
    pl_fmu_events *events;           /* null: it has no event mode, or handles its events itself */
    pl_kept_unit kept[PL_LEVELS];
} pl_fmu_unit;

#endif
