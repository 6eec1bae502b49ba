/* Zero crossings and their signs. Where in a step one changes is in crossing_search.c, what follows in events.c. */

#include "crossings.h"

#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double pl_crossing(const pl_run *r, int i) { return r->g[r->model->place_of[i]]; }

static void look_at(pl_run *r, int32_t first, int32_t last)
{
    r->looked_at[2 * r->n_looked_at] = first;
    r->looked_at[2 * r->n_looked_at++ + 1] = last;
}

/* Those that depend on what is held only, where that has changed. */
static void evaluate_held(pl_run *r)
{
    const pl_lasting *f = r->model->held_crossings;

    pl_evaluate_stale(r, f, r->stale_crossings, r->g);
    for (int32_t k = 0; k < f->n_pieces; k++)
        for (int32_t j = f->runs_start[k]; r->stale_crossings[k] && j < f->runs_start[k + 1]; j++)
            look_at(r, f->runs[2 * j], f->runs[2 * j + 1]);
}

void pl_look_again(pl_run *r, int i)
{
    const pl_parts *f = r->model->crossings;

    r->events_known = 0;
    if (r->model->place_of[i] < r->model->n_held_places) r->stale_crossings[f->n_pieces < 2 ? 0 : f->piece_of[i]] = 1;
}

void pl_all_looked_at(pl_run *r)
{
    r->held_known = 1;
    memset(r->stale_crossings, 0, sizeof(int32_t) * (size_t)r->model->held_crossings->n_pieces);
}

/* What there is to look at: all, or what moves and what has changed. */
static void note_looked_at(pl_run *r)
{
    const pl_model *m = r->model;

    r->n_looked_at = 0;
    if (r->held_known) evaluate_held(r);
    look_at(r, r->held_known ? m->n_held_places : 0, m->n_places);
}

void pl_look_at_crossings(pl_run *r, double t, const double *x)
{
    const pl_model *m = r->model;

    pl_set_arguments(r, t, x);
    note_looked_at(r);
    if (r->held_known)
        m->moving_crossings(&r->a, r->g);
    else
        m->crossings->all(&r->a, r->g);
}

static double sign(double v) { return v > 0 ? 1. : v < 0 ? -1. : v == 0 ? 0. : v; }

/* Up to where a crossing is on its threshold. */
static inline double reach(const pl_run *r, int i)
{
    return r->missed[i] > r->system->threshold[i] ? r->missed[i] : r->system->threshold[i];
}

int pl_on_threshold(const pl_run *r, int i) { return fabs(pl_crossing(r, i)) <= reach(r, i); }

/* The side and the limit of a place: what is beyond the thresholds of all its events, on the sides that are stored. */
static void settle_place(pl_run *r, int place)
{
    const int32_t *events = r->model->event_at;
    const int32_t first = r->model->event_start[place], last = r->model->event_start[place + 1];
    double side = r->context->signs[events[first]], limit = 0.0;

    for (int32_t k = first; k < last; k++) {
        const int32_t i = events[k];
        if (r->context->signs[i] != side || fabs(side) != 1.0) side = 0.0;
        if (reach(r, i) > limit) limit = reach(r, i);
    }
    r->side[place] = side;
    r->limit[place] = limit;
}

void pl_settle_side(pl_run *r, int i) { settle_place(r, r->model->place_of[i]); }

void pl_set_sign(pl_run *r, int i, double now)
{
    if (r->context->signs[i] == now) return;
    r->context->signs[i] = now;
    pl_settle_side(r, i);
}

static void settle_sides(pl_run *r)
{
    if (r->sides_known) return;
    for (int place = 0; place < r->model->n_places; place++) settle_place(r, place);
    r->sides_known = 1;
}

enum { ROW = 64 }; /* places compared, several at once, before any is looked at by itself */

/* The places from `first` to before `last` of which an event is not beyond its threshold, in order; how many. */
PL_WIDE static int loud_places(
    const double *restrict g, const double *restrict side, const double *restrict limit, int first, int last,
    int32_t *restrict loud)
{
    int n = 0;

    for (int begin = first; begin < last; begin += ROW) {
        const int end = last - begin < ROW ? last : begin + ROW;
        int64_t any = 0; /* as wide as what is compared */
        for (int k = begin; k < end; k++) any |= g[k] * side[k] > limit[k] ? 0 : 1;
        for (int k = begin; any && k < end; k++)
            if (!(g[k] * side[k] > limit[k])) loud[n++] = k;
    }
    return n;
}

static int in_order(const void *a, const void *b)
{
    const int32_t first = *(const int32_t *)a, last = *(const int32_t *)b;
    return (first > last) - (first < last);
}

/* Is the crossing of an event beyond its threshold, on the side that is stored? */
static int is_beyond(const pl_run *r, int i)
{
    const double stored = r->context->signs[i], g = pl_crossing(r, i) * stored;
    return g > r->system->threshold[i] && g > r->missed[i] && fabs(stored) <= 1.0;
}

/* Those that were looked at and are not beyond their thresholds on the sides that are stored, in order. */
static void find_loud(pl_run *r)
{
    const pl_model *m = r->model;
    int n = 0;

    settle_sides(r);
    int places = 0;
    for (int k = 0; k < r->n_looked_at; k++)
        places += loud_places(
            r->g, r->side, r->limit, r->looked_at[2 * k], r->looked_at[2 * k + 1], r->special + places);
    for (int k = 0; k < places; k++) {
        const int place = r->special[k];
        for (int j = m->event_start[place]; j < m->event_start[place + 1]; j++)
            if (!is_beyond(r, m->event_at[j])) r->loud[n++] = m->event_at[j];
    }
    if (n > 1) qsort(r->loud, (size_t)n, sizeof *r->loud, in_order);
    r->n_loud = n;
}

/* Signs of those, and which of them are on their threshold, or no number. */
static int signs_by_value(pl_run *r)
{
    int n = 0;

    for (int k = 0; k < r->n_loud; k++) {
        const int32_t i = r->loud[k];
        r->new_signs[i] = pl_crossing(r, i) > 0. ? 1. : -1.;
        if (!(fabs(pl_crossing(r, i)) > reach(r, i))) r->special[n++] = i;
    }
    return n;
}

int pl_find_signs(pl_run *r)
{
    const int n = signs_by_value(r);
    pl_evaluate_some(r, r->model->crossing_rates, r->special, n, r->g_rates);
    for (int k = 0; k < n; k++) {
        const int32_t i = r->special[k];
        const double now = sign(pl_on_threshold(r, i) ? r->g_rates[i] : pl_crossing(r, i));
        r->new_signs[i] = now == 0. ? r->system->rest[i] : now;
        if (!isnan(now)) continue;
        r->index = i;
        return PL_NO_SIGN;
    }
    return PL_DONE;
}

int pl_evaluate_crossings(pl_run *r, double t, const double *x)
{
    pl_look_at_crossings(r, t, x);
    find_loud(r);
    return r->n_loud ? pl_find_signs(r) : PL_DONE;
}

void pl_compare_crossings(pl_run *r, const double *g)
{
    memcpy(r->g, g, sizeof(double) * (size_t)r->model->n_places);
    note_looked_at(r);
    find_loud(r);
}

PL_WIDE static void note_sizes(const double *restrict g, double *restrict reached, int first, int last)
{
    for (int k = first; k < last; k++) {
        const double size = fabs(g[k]);
        reached[k] = size > reached[k] ? size : reached[k];
    }
}

void pl_note_farthest(pl_run *r)
{
    for (int k = 0; k < r->n_looked_at; k++)
        note_sizes(r->g, r->reached, r->looked_at[2 * k], r->looked_at[2 * k + 1]);
}

double pl_farthest(const pl_run *r, int i) { return fmax(r->farthest[i], r->reached[r->model->place_of[i]]); }

void pl_forget_farthest(pl_run *r, int i)
{
    const pl_model *m = r->model;
    const int place = m->place_of[i];

    for (int k = m->event_start[place]; k < m->event_start[place + 1]; k++)
        r->farthest[m->event_at[k]] = pl_farthest(r, m->event_at[k]);
    r->reached[place] = r->farthest[i] = 0.0;
    pl_look_again(r, i);
}
