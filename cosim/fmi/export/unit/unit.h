/* One instance of an exported model: what the functions of FMI 2 and FMI 3 have in common.

   A model is data and code that never change (struct unit_model, which tables.c defines); an instance is one
   struct unit, and nothing else is written to. What changes in a run is one block of memory and the histories of
   delays: a copy of both is a saved state. Times and rules are those of the runtime, plantloop.h. */

#ifndef UNIT_H
#define UNIT_H

#include "plantloop.h"

/* Where a number is. */
enum {
    UNIT_TIME = 0,  /* the independent variable */
    UNIT_INPUT,     /* in h */
    UNIT_PARAMETER, /* in p */
    UNIT_STATE,     /* in x */
    UNIT_RATE,      /* derivative of a state, by its place in x */
    UNIT_HELD,      /* start value in h: a mode, a sampled memory */
    UNIT_DISCRETE,  /* start value in h of a discrete state, whose next value is the same */
    UNIT_SIGNAL,    /* in the row of shown signals: an output, or a local variable */
    UNIT_INDICATOR, /* of an event */
    UNIT_ZERO       /* an entry of a parameter that is zero by structure */
};

typedef struct {
    int32_t kind, place;
} unit_number;

/* What a parameter may be. */
typedef struct {
    int32_t place; /* in p */
    double low, high;
    int32_t lower, upper; /* 0: there is no such limit, 1: it may be the limit, 2: it may not */
    const char *name, *text;
} unit_limit;

/* What a variable depends on, number by number: number k on `on[start[k]]` to before `on[start[k + 1]]`. */
typedef struct {
    uint32_t reference;
    int32_t size; /* 0 ends a list */
    const int32_t *start;
    const uint32_t *on;
} unit_depends;

typedef struct {
    const char *name, *token;
    const pl_system *system;
    const pl_settings *settings;
    const pl_stiff *stiff;                   /* tables of the stiff method, null for others */
    const pl_jacobian *(*jacobian)(void);    /* code of the stiff method */
    const pl_jacobian *(*forward)(void);     /* derivatives along a direction: see unit_derivatives.c */
    const pl_jacobian *(*adjoint)(void);
    const double *x, *h, *w, *p;             /* start values */
    uint32_t n_numbers;
    const unit_number *numbers;              /* by value reference */
    const int32_t *sizes;                    /* numbers of the variable that begins at a reference, else 0 */
    const unit_depends *depends;             /* of all variables the model computes */
    int32_t n_limits;
    const unit_limit *limits;                /* of parameters that have any, by rising places */
    int32_t n_inputs;
    const int32_t *inputs;                   /* places in h */
    int input_slopes;                        /* do events follow slopes of inputs, which no importer tells? */
    int32_t n_shown;
    const int32_t *shown;                    /* signals that are shown, in the vector of all signals */
    int32_t n_pieces;
    const int32_t *pieces;                   /* of the code of signals that these need */
    const char *const *state_names, *const *event_names, *const *segment_names; /* for messages */
} unit_model;

extern const unit_model unit_exported;

/* What an instance is doing; functions are allowed in some of these. */
enum {
    UNIT_INSTANTIATED = 1,
    UNIT_CONFIGURATION = 2,
    UNIT_INITIALIZATION = 4,
    UNIT_EVENT = 8,
    UNIT_CONTINUOUS = 16,
    UNIT_STEP = 32,
    UNIT_TERMINATED = 64,
    UNIT_FAILED = 128,
    UNIT_RECONFIGURATION = 256,
    UNIT_INTERMEDIATE = 512, /* within a step of co-simulation */
    UNIT_ANY = 1023,
    UNIT_RUNNING = UNIT_INITIALIZATION | UNIT_EVENT | UNIT_CONTINUOUS | UNIT_STEP
};

/* Answers, as both versions of FMI number them. */
enum { UNIT_OK = 0, UNIT_WARNING = 1, UNIT_DISCARD = 2, UNIT_ERROR = 3, UNIT_FATAL = 4 };

typedef struct unit unit;
typedef struct {
    int ends;     /* the importer wants the step to end, and */
    double until; /* when [s] */
} unit_pause;
typedef void (*unit_log)(const unit *u, int status, const char *category, const char *message);

typedef struct {
    double *values;
    size_t size; /* bytes */
} unit_bytes;

struct unit {
    const unit_model *model;
    char *name;
    unit_log log;        /* how its version of FMI logs, through: */
    void *environment;
    void (*callback)(void);
    int verbose;         /* events are logged, not only what went wrong */
    int exchange;        /* model exchange; else co-simulation */
    int mode;
    double start, stop;  /* of the experiment [s]; stop is infinite where none is given */
    double last;         /* time of the last completed step */
    double regular;      /* size of the first communication step [s], 0 before it */
    int settled;         /* the start instant is executed: `before` holds what was set */
    int updated;         /* events of this event mode are handled: `before` holds how it began */
    int renewed;         /* an input or a parameter was set since */
    int off_invariants;  /* states left the invariants: the next event brings them back */
    int pauses;          /* co-simulation with event mode: a step ends before the first thing that happens, and */
    int early;           /* may it end there before its end? */
    int due;             /* what waits for event mode: 0 nothing, 1 an instant, 2 + i the crossing i */
    void (*intermediate)(struct unit *u, unit_pause *pause); /* called between the steps of the solver, or null */
    void (*on_intermediate)(void); /* the callback of FMI behind it */
    int row_known, rates_known;
    unit_bytes before, aside;
    int64_t *changing;   /* all numbers that a run changes, one after the other */
    size_t n_changing;
    double *room;        /* the runtime's own memory, and that of derivatives */
    double *row, *rates, *kept, *indicators, *linear;
    double *old_x, old_t; /* where the last accepted step ended: states, behind them inputs, and time */
    pl_context context;
    pl_settings settings;
    pl_stiff stiff;
    pl_log notes;        /* nothing is logged, but the runtime writes a row where a run ends: */
    double last_row[1];
    pl_buffer shown;
    pl_run run;
};

/* unit.c: from instantiation to free; what may be called when. */
unit *unit_create(const unit_model *m, const char *name, int exchange);
void unit_free(unit *u);
void unit_reset(unit *u);
int unit_allowed(unit *u, const char *function, int modes);
const char *unit_mode_name(int mode);

/* unit_values.c: numbers by reference. */
int unit_get(unit *u, uint32_t reference, double *value);
int unit_set(unit *u, uint32_t reference, double value);

/* unit_running.c: initialisation and communication steps. */
typedef struct {
    double last; /* how far the step came [s] */
    int ended;   /* the model asks to end the simulation */
    int event;   /* something waits for event mode */
    int early;   /* it ends before it should have */
} unit_arrival;

int unit_begin(unit *u, int tolerance_defined, double tolerance, double start, int stop_defined, double stop);
int unit_settle(unit *u);
int unit_unsettle(unit *u);
int unit_initialised(unit *u);
int unit_execute(unit *u);
int unit_step(unit *u, double t, double h, unit_arrival *arrival);
int unit_signals(unit *u);
int unit_rates(unit *u);

/* unit_memory.c: room for the past. */
int unit_reserve(unit *u, int32_t delay, int64_t capacity);
int unit_grow(unit *u);

/* unit_events.c: model exchange, and event mode of co-simulation. */
typedef struct {
    int terminate, values_changed, next_defined;
    double next;
} unit_update;

int unit_enter_event_mode(unit *u);
int unit_update_states(unit *u, unit_update *update);
int unit_enter_continuous_mode(unit *u);
int unit_completed_step(unit *u, int *enter_event_mode, int *terminate);
int unit_indicators(unit *u, double *values);
void unit_set_time(unit *u, double t);
void unit_set_states(unit *u, const double *x);

/* unit_states.c: saved states. */
size_t unit_state_size(const unit *u);
int unit_save(const unit *u, unit_bytes *into);
int unit_load(unit *u, const unit_bytes *from);
int unit_fits(const unit *u, const unit_bytes *state);
size_t unit_saved_size(const unit_bytes *state);
int unit_restore_bytes(unit *u, const void *bytes, size_t size, unit_bytes **into);

/* unit_derivatives.c: derivatives of what is shown with respect to what may be set. */
size_t unit_derivative_doubles(const unit *u);
int unit_forward(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result);
int unit_adjoint(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result);
int unit_output_rates(unit *u, const uint32_t *outputs, size_t n, double *result);

/* unit_messages.c */
void unit_say(const unit *u, int status, const char *category, const char *format, ...);
int unit_explain(unit *u, int reason);

#endif
