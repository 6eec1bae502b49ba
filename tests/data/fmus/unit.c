/* What does not depend on the version of FMI: start values, sizes, a default communication step. */
#include "unit.h"

void unit_reset(Unit *u)
{
    Unit kept = *u;
    memset(u, 0, sizeof *u);
    memcpy(u->cell, START, sizeof START);
    memcpy(u->text, TEXT_START, sizeof TEXT_START);
    u->next_event = INFINITY;
    u->exchange = kept.exchange;
    u->saved = kept.saved;
    u->event_mode_used = kept.event_mode_used;
    u->early_return_allowed = kept.early_return_allowed;
    u->logging = kept.logging;
    memcpy(u->name, kept.name, sizeof u->name);
    memcpy(u->resources, kept.resources, sizeof u->resources);
    u->environment = kept.environment;
    u->logger = kept.logger;
    u->intermediate = kept.intermediate;
    u->clock_update = kept.clock_update;
#if N_CLOCKS
    model_clocks(u);
#endif
}

size_t unit_size(const Unit *u, int variable)
{
    const Variable *v = &TABLE[variable];
    size_t size = 1;
    for (int i = 0; i < v->n_dimensions; i++)
        size *= v->dimension[i] >= 0 ? (size_t)v->dimension[i] : (size_t)u->cell[TABLE[-1 - v->dimension[i]].first].u;
    return size;
}

#ifndef OWN_STEP
/* Steps of rk4 of at most INTERNAL_STEP, ended at time events; state events are found at the ends of steps. */
static void rates(Unit *u, const double *x, double t, double *dx)
{
    for (int i = 0; i < N_STATES; i++) u->cell[STATE_CELL[i]].d = x[i];
    u->time = t;
    model_calculate(u);
    for (int i = 0; i < N_STATES; i++) dx[i] = u->cell[RATE_CELL[i]].d;
}

static void events(Unit *u)
{
    model_event(u);
    model_calculate(u);
}

Status model_step(Unit *u, double h)
{
    const double end = u->time + h;
    while (u->time < end && !u->terminate) {
        double stop = u->next_event < end ? u->next_event : end;
        double t = u->time, x[N_STATES + 1], y[N_STATES + 1], k[4][N_STATES + 1], before[N_INDICATORS + 1];
        const int n = (int)ceil((stop - t) / INTERNAL_STEP - 1e-9);
        double dt = n > 0 ? (stop - t) / n : 0;
        if (n <= 1) dt = stop - t;
        model_calculate(u);
        memcpy(before, u->z, sizeof before);
        for (int i = 0; i < N_STATES; i++) x[i] = u->cell[STATE_CELL[i]].d;
        rates(u, x, t, k[0]);
        for (int i = 0; i < N_STATES; i++) y[i] = x[i] + dt / 2 * k[0][i];
        rates(u, y, t + dt / 2, k[1]);
        for (int i = 0; i < N_STATES; i++) y[i] = x[i] + dt / 2 * k[1][i];
        rates(u, y, t + dt / 2, k[2]);
        for (int i = 0; i < N_STATES; i++) y[i] = x[i] + dt * k[2][i];
        rates(u, y, t + dt, k[3]);
        for (int i = 0; i < N_STATES; i++)
            y[i] = x[i] + dt / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        rates(u, y, n <= 1 ? stop : t + dt, k[0]);
        int crossed = u->time >= u->next_event;
        for (int i = 0; i < N_INDICATORS; i++) crossed |= (before[i] > 0) != (u->z[i] > 0);
        if (crossed) events(u);
    }
    return OK;
}
#endif

Status unit_do_step(Unit *u, double t, double h)
{
    if (!(h > 0) || fabs(t - u->time) > 1e-9 * (1 + fabs(t))) {
        say(u, ERROR, "logStatusError", "step from %.17g s of %.17g s: the unit stands at %.17g s", t, h, u->time);
        return ERROR;
    }
    const Status status = model_step(u, h);
    if (status == OK && !u->terminate && !u->event_due) u->time = t + h;
    u->steps++;
    for (int i = 0; i < N_CELLS; i++) u->slope[i] = u->curvature[i] = 0;
    model_calculate(u);
    return status;
}
