/* FMUs for model exchange, called without the host: what equations ask of one, through pointers to its functions.

   The host changes parameters of an FMU and explains what goes wrong: where anything but plain calls is needed, or one
   fails, pl_ask_fmu returns 1, and the host is asked in its place. It may let pl_initialise_fmu begin a run. */

#include "fmu_values.h"
#include "unit_clock.h"
#include "plantloop.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100 };

static const double IN_LOOP = 2.0; /* what asks for an event after which the FMU stays in event mode */
static const double NEVER = 1e30; /* the time of an event that does not come */
static const double NEAR = 1e-12, ROUNDED = 5e-14; /* as in cosim/fmi/unit_clock.py */

typedef int (*set_time)(void *c, double t);
typedef int (*set_vector)(void *c, const double *x, size_t n);
typedef int (*get_vector)(void *c, double *x, size_t n);
typedef int (*change_mode)(void *c);
typedef int (*setup_2)(void *c, int has_tolerance, double tolerance, double start, int has_stop, double stop);
typedef int (*setup_3)(void *c, _Bool has_tolerance, double tolerance, double start, _Bool has_stop, double stop);
typedef int (*completed_2)(void *c, int no_way_back, int *event, int *terminate);
typedef int (*completed_3)(void *c, _Bool no_way_back, _Bool *event, _Bool *terminate);
typedef int (*update_3)(void *c, _Bool *again, _Bool *terminate, _Bool *nominals, _Bool *values, _Bool *defined, double *next);

typedef struct {
    int again, terminate, nominals, values, defined;
    double next;
} event_info;
typedef int (*update_2)(void *c, event_info *info);

/* By how much instants near a time of the FMU may differ and still be one, of its clock and of the run. */
static double near_by(const pl_fmu *u, double t)
{
    return fmax(NEAR * fmax(1.0, fabs(t - u->clock)), ROUNDED * fmax(fabs(t), fabs(u->clock)));
}

/* Its time at one of the run: that announced for the next event, of the newest one or of the newest step, if it is that
   by rounding. */
static double own_time(const pl_fmu *u, double t)
{
    const double shown = t + u->clock, near = near_by(u, shown), early = u->stands_from - shown;

    if (u->stays && fabs(early) <= near) return u->stands_from;
    if (shown >= u->next - near) return u->next; /* in a pause of the part around it, it waits there */
    if (fabs(shown - u->reached) <= near) return u->reached;
    return early > 0.0 && early <= near ? u->stands_from : shown;
}

/* The FMU at a time of its own, and the states and inputs of a row; nothing is set that it has already. */
static int stand(pl_fmu *u, const pl_fmu_call *call, const double *row, double t)
{
    const double *x = row + 1;
    const int same = t == u->t && !memcmp(x, u->x, sizeof(double) * (size_t)u->nx);

    if (!u->ready || memcmp(row + call->parameters, u->p, sizeof(double) * (size_t)u->np)) return 1;
    if (!same) {
        u->t = NAN;
        if (u->stays && pl_went_wrong(((change_mode)u->enter_continuous)(u->component))) return 1;
        u->stays = 0;
        if (pl_went_wrong(((set_time)u->set_time)(u->component, t))) return 1;
        if (u->nx && pl_went_wrong(((set_vector)u->set_states)(u->component, x, (size_t)u->nx))) return 1;
        memcpy(u->x, x, sizeof(double) * (size_t)u->nx);
        u->t = t;
    }
    if (!call->n_inputs) return 0;
    if (same && u->set_by == call && !memcmp(x + u->nx, call->inputs_set, sizeof(double) * (size_t)call->width)) return 0;
    u->set_by = 0;
    if (pl_write_values(u->component, u->version, call->inputs, call->n_inputs, row)) return 1;
    memcpy(call->inputs_set, x + u->nx, sizeof(double) * (size_t)call->width);
    u->set_by = call;
    return 0;
}

/* One round of event mode; returns what the FMU does. */
static int update(pl_fmu *u, int *again, int *terminate, double *next)
{
    int status;

    if (u->version == 2) {
        event_info info = {0};
        if (pl_went_wrong(status = ((update_2)u->update)(u->component, &info))) return status;
        *again = info.again, *terminate |= info.terminate;
        *next = info.defined ? info.next : NEVER;
        return status;
    }
    _Bool flags[5] = {0};
    double time = 0.0;
    status = ((update_3)u->update)(u->component, flags, flags + 1, flags + 2, flags + 3, flags + 4, &time);
    if (pl_went_wrong(status)) return status;
    *again = flags[0], *terminate |= flags[1];
    *next = flags[4] ? time : NEVER;
    return status;
}

/* What an event gives: states are there already. */
static void results(pl_fmu *u, const pl_fmu_call *call, const double *row, int terminate, double *out)
{
    out[u->nx] = u->next >= NEVER ? NEVER : pl_run_time(u->clock, u->next);
    out[u->nx + 1] = terminate;
    memcpy(call->event, row, sizeof(double) * (size_t)(call->results + u->nx + 2));
}

/* The first event of a run, at its start: an FMU that stands as it was initialised has had it. */
static int begin(pl_fmu *u, const pl_fmu_call *call, const double *row, double *out)
{
    const double *x = row + 1;
    const size_t nx = sizeof(double) * (size_t)u->nx, nu = sizeof(double) * (size_t)call->width;

    if (!u->ready || memcmp(x, u->start, nx) || memcmp(x + u->nx, u->inputs_given, nu)) return 1;
    if (memcmp(row + call->parameters, u->p, sizeof(double) * (size_t)u->np)) return 1;
    u->begun = 1;
    memcpy(out, x, nx);
    results(u, call, row, 0, out);
    return 0;
}

/* Event mode: states, the time of the next event, and whether it ends the run. */
static int event(pl_fmu *u, const pl_fmu_call *call, const double *row, double *out)
{
    int again = 1, terminate = 0, round = 0;
    double next = NEVER;

    memset(out, 0, sizeof(double) * (size_t)(u->nx + 2));
    if (row[call->request] == 0.0) return 0;
    if (u->stays == 2 || (!u->begun && row[call->request] == IN_LOOP)) return 1;
    if (!u->begun) return begin(u, call, row, out);
    if (!memcmp(row, call->event, sizeof(double) * (size_t)call->results)) { /* code may ask for each number */
        memcpy(out, call->event + call->results, sizeof(double) * (size_t)(u->nx + 2));
        return 0;
    }
    const double shown = row[0] + u->clock, t = own_time(u, row[0]);
    if (u->next < shown - near_by(u, shown)) return 1; /* after a pause of the part around it: the host handles what was announced in it */
    if (stand(u, call, row, t)) return 1;
    u->t = NAN, u->set_by = 0;
    if (!u->stays && pl_went_wrong(((change_mode)u->enter_event_mode)(u->component))) return 1;
    u->in_event = 1, u->stays = 0;
    u->stands_from = u->reached = t;
    if (pl_write_values(u->component, u->version, call->all, call->n_all, row)) return 1;
    while (!terminate && (again || next <= t)) {
        if (++round > ROUNDS || pl_went_wrong(update(u, &again, &terminate, &next))) return 1;
    }
    if (next != next) return 1; /* a time that is none: Python says so */
    const int stays = !terminate && row[call->request] == IN_LOOP;
    if (!terminate && !stays && pl_went_wrong(((change_mode)u->enter_continuous)(u->component))) return 1;
    u->in_event = 0, u->stays = stays;
    if (u->nx && pl_went_wrong(((get_vector)u->get_states)(u->component, out, (size_t)u->nx))) return 1;
    if (stays) { /* it stands where it is asked for the next time */
        memcpy(u->x, out, sizeof(double) * (size_t)u->nx);
        u->t = t;
    }
    u->next = next;
    u->terminated |= terminate;
    u->ready = !terminate;
    results(u, call, row, terminate, out);
    return 0;
}

static int completed(pl_fmu *u, const pl_fmu_call *call, const double *row, double *out)
{
    const double t = own_time(u, row[0]);

    if (t == u->reached) { /* no step was made since; inputs may have jumped: its event comes first */
        out[0] = (double)u->asked;
        return 0;
    }
    if (stand(u, call, row, t)) return 1;
    if (u->version == 2) {
        int event = 0, terminate = 0;
        if (pl_went_wrong(((completed_2)u->completed)(u->component, 0, &event, &terminate))) return 1;
        u->asked += event || terminate;
        u->terminated |= terminate;
    } else {
        _Bool event = 0, terminate = 0;
        if (pl_went_wrong(((completed_3)u->completed)(u->component, 0, &event, &terminate))) return 1;
        u->asked += event || terminate;
        u->terminated |= terminate;
    }
    u->set_by = 0;
    u->reached = t;
    u->ready = !u->terminated; /* it stays where it is from now on */
    out[0] = (double)u->asked;
    return 0;
}

/* n doubles, in which pointers into themselves are moved along; `moved` says where they are [bytes]. */
void pl_copy_block(double *to, const double *from, int64_t n, const int32_t *moved, int32_t n_moved)
{
    memcpy(to, from, sizeof(double) * (size_t)n);
    for (const int32_t *m = moved; m < moved + n_moved; m++) {
        char **const pointer = (char **)((char *)to + *m);
        *pointer = (char *)to + (*pointer - (const char *)from);
    }
}

/* Whether it refuses a call while it is initialised, which the host explains. */
static int refuses(pl_fmu *u, int call, int status)
{
    if (!pl_went_wrong(status)) return 0;
    u->refused = call, u->status = status;
    return 1;
}

/* Into initialisation mode at t [s]. */
static int enter(pl_fmu *u, double t)
{
    const int ends = u->stop == u->stop;
    const double stop = ends ? u->stop : 0.0;

    if (u->version != 2)
        return refuses(u, PL_REFUSED_ENTER, ((setup_3)u->enter_initialization)(u->component, 0, 0.0, t, ends != 0, stop));
    return refuses(u, PL_REFUSED_SETUP, ((setup_2)u->setup)(u->component, 0, 0.0, t, ends, stop)) ||
           refuses(u, PL_REFUSED_ENTER, ((change_mode)u->enter_initialization)(u->component));
}

/* Initialise an FMU for a run with the states and parameters it has by itself, and the inputs of a row; `event` is the
   call that sets them all. Returns 1 where the host goes on. */
int pl_initialise_fmu(const void *self, const pl_fmu_call *event, const double *row)
{
    const pl_fmu_call *call = self;
    pl_fmu *u = call->fmu;
    const double *x = row + 1, t = row[0] + u->clock;
    const size_t nx = sizeof(double) * (size_t)u->nx, nu = sizeof(double) * (size_t)u->nu;
    int again = 1, terminate = 0, round = 0;
    double next = NEVER;

    if (u->initialised != PL_FMU_MAY || call->width != u->nu) return 1;
    if (memcmp(x, u->start, nx) || memcmp(row + call->parameters, u->p, sizeof(double) * (size_t)u->np)) return 1;
    if (call->what == PL_FMU_OUTPUTS && memcmp(x + u->nx, u->inputs_given, nu)) return 1;
    if (pl_write_values(u->component, u->version, event->all, event->n_all, row)) return 1;
    u->initialised = PL_FMU_ANEW;
    u->stands_from = u->reached = t;
    if (enter(u, t)) return 1;
    if (refuses(u, PL_REFUSED_EXIT, ((change_mode)u->exit_initialization)(u->component))) return 1;
    while (!terminate && (again || next <= t)) {
        if (++round > ROUNDS || refuses(u, PL_REFUSED_UPDATE, update(u, &again, &terminate, &next))) return 1;
    }
    if (next != next) return 1; /* a time that is none: the host says so */
    if (!terminate && refuses(u, PL_REFUSED_CONTINUOUS, ((change_mode)u->enter_continuous)(u->component))) return 1;
    const int hidden = u->nx && pl_went_wrong(((get_vector)u->get_states)(u->component, u->x, (size_t)u->nx));
    memcpy(u->inputs_given, x + u->nx, nu);
    u->next = fmin(next, NEVER);
    u->terminated = terminate;
    u->ready = !terminate && !hidden && !memcmp(u->x, u->start, nx);
    u->initialised = u->ready ? PL_FMU_DONE : PL_FMU_OTHERWISE;
    if (u->ready) u->t = t;
    return !u->ready;
}

int pl_ask_fmu(const void *self, double *row)
{
    const pl_fmu_call *call = self;
    pl_fmu *u = call->fmu;
    double *out = row + call->results;
    const double t = own_time(u, row[0]);

    switch (call->what) {
    case PL_FMU_DERIVATIVES:
        return stand(u, call, row, t) || pl_went_wrong(((get_vector)u->derivatives)(u->component, out, (size_t)u->nx));
    case PL_FMU_INDICATORS:
        return stand(u, call, row, t) || pl_went_wrong(((get_vector)u->indicators)(u->component, out, (size_t)u->nz));
    case PL_FMU_OUTPUTS:
        if (stand(u, call, row, t)) return 1;
        return pl_read_values(u->component, u->version, call->outputs, call->n_outputs, out);
    case PL_FMU_EVENT: return event(u, call, row, out);
    case PL_FMU_COMPLETED:
        if (u->begun) return u->terminated ? 1 : completed(u, call, row, out);
        out[0] = (double)u->asked; /* no step was made */
        return 0;
    default: return 1;
    }
}
