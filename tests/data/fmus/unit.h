/* One instance of a test unit, whatever version of FMI it speaks: values in cells, one model per file.

   variables.h is written by tests/helpers/fmus.py: a table of variables in the order of the description. The value
   reference of the variable at place i of the table is 10 + 3 i, so that a host that takes one for the other is found. */
#ifndef UNIT_H
#define UNIT_H

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 2, ROOM = 512, PATH_ROOM = 2048 };
typedef enum { FLOAT, SIGNED, UNSIGNED, STRING, BINARY, CLOCK } Family;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;

typedef union {
    double d;
    int64_t i;
    uint64_t u;
} Value;

/* first: of its cells (strings and binaries: of its texts); a dimension is a number, or -1 - place of a variable */
typedef struct {
    const char *name;
    Family family;
    int bits; /* 1 for booleans */
    int first, n_dimensions, dimension[MOST_DIMENSIONS];
    int settable, input, fixed;
    int moving, calculated, constant; /* a continuous number; has no start value that may be set */
    unsigned clocks; /* of a clock its bit, of a clocked variable those of its clocks */
} Variable;

typedef struct {
    size_t size;
    char data[ROOM];
} Text;

#include "variables.h"

typedef struct Unit {
    Value cell[N_CELLS];
    Text text[N_TEXTS];
    double slope[N_CELLS], curvature[N_CELLS]; /* of real inputs over the coming step */
    double time, next_event;                   /* next_event: infinity where there is none */
    double z[N_INDICATORS + 1];                /* indicators where they were last looked at */
    double output_rate[N_CELLS];
    unsigned active, ticked, said; /* bits of clocks: active now, output clocks not asked for yet, new intervals */
    double interval[N_CLOCKS + 1]; /* of clocks in their order, where the unit says it */
    int event_due, terminate, discrete_changed;
    int64_t steps;
    /* what is no state */
    double from, over; /* a step in the background, until it was looked at so often */
    int looks;
    double entered, accepted, stop, one_step; /* last event, last step that was accepted, end of the run, first step */
    int settled, saved; /* event mode has come to its end; states that are saved */
    int mode, mode_before, exchange, event_mode_used, early_return_allowed, logging;
    char name[ROOM], resources[PATH_ROOM];
    void *environment, *logger, *intermediate, *clock_update;
} Unit;

/* Numbers by their names: R(x) is a cell as double, N(count) as integer. */
#define R(name) (u->cell[c_##name].d)
#define N(name) (u->cell[c_##name].i)
#define ACTIVE(name) (u->active & b_##name)

void say(Unit *u, Status status, const char *category, const char *format, ...);

/* What a model says. */
void model_calculate(Unit *u);             /* derivatives, indicators (z) and outputs, from the rest */
void model_start(Unit *u);                 /* where initialisation ends */
void model_event(Unit *u);                 /* what happens in event mode */
Status model_step(Unit *u, double h);      /* a communication step; unit.c has one for models with states */
double model_partial(Unit *u, int unknown, int known); /* of one variable (place in the table) to another */

void model_accepted(Unit *u); /* an integrator's step was accepted: of units that care */

void model_clocks(Unit *u);         /* intervals that are known before initialisation, and */
void model_tick(Unit *u, double t); /* clocks became active: of units with clocks */

/* What unit.c does for both versions. */
void unit_reset(Unit *u);
size_t unit_size(const Unit *u, int variable);
Status unit_do_step(Unit *u, double t, double h);

#endif
