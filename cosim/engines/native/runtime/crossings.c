/* Zero crossings: their signs, and where in a step one changes. What follows from it is in events.c. */

#include "crossings.h"

#include "evaluate.h"
#include "quartic.h"
#include "step.h"

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

static void evaluate(pl_run *r, double t, const double *x)
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

/* Signs of what is in r->g, at the arguments. */
static int find_signs(pl_run *r)
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
    evaluate(r, t, x);
    find_loud(r);
    return r->n_loud ? find_signs(r) : PL_DONE;
}

/* Where it was looked at last. */
static double sign_now(const pl_run *r, int i)
{
    for (int k = 0; k < r->n_loud; k++)
        if (r->loud[k] == i) return r->new_signs[i];
    return r->context->signs[i];
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

/* A crossing inside the step, above zero where it has crossed to `side`. */
static double beyond(pl_run *r, int32_t i, double side, double t)
{
    const pl_parts *f = r->model->crossings;
    const int32_t *read = f->states + 2 * (f->n_pieces < 2 ? 0 : f->piece_of[i]);

    if (r->system->n_unknowns || r->system->n_delays)
        pl_interpolate(r, t, r->scratch);
    else
        pl_interpolate_some(r, t, read[0], read[1], r->scratch);
    pl_set_arguments(r, t, r->model->nx ? r->scratch : r->context->x);
    pl_evaluate_some(r, r->model->crossings, &i, 1, r->g);
    return pl_crossing(r, i) * side;
}

static const double *state_at(pl_run *r, double t)
{
    if (!r->model->nx) return r->context->x;
    if (t == r->t1) return r->x1;
    pl_interpolate(r, t, r->scratch);
    return r->scratch;
}

/* Where the sign of a crossing changes that is on its threshold all the way, and begins to move: crossings.py, _turn. */
static double turn(pl_run *r, int i, double side, double low, double high)
{
    for (;;) {
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high && high - low > 1e-15 * (fabs(high) > 1. ? fabs(high) : 1.))) break;
        if (pl_evaluate_crossings(r, middle, state_at(r, middle))) break;
        if (sign_now(r, i) == side)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* To the last bit that matters; the end that has crossed is returned: crossings.py, _root. */
static double root(pl_run *r, int i, double side, double low, double high)
{
    double below = beyond(r, i, side, low), above = beyond(r, i, side, high), before = INFINITY;
    const double begin = low, end = high;
    int slow = 0, last = 0, beyond_at_all = below > 0.;

    for (int round = 0; round < 200; round++) {
        const double middle = 0.5 * (low + high), width = high - low;
        const double bit = 1e-15 * (fabs(high) > 1. ? fabs(high) : 1.);
        if (!(low < middle && middle < high) || width <= bit) break;
        double t = middle;
        slow = width > 0.5 * before ? slow + 1 : 0;
        if (slow < 2 && below <= 0. && above > 0.) {
            t = low + width * (below / (below - above));
            t = t > high - bit ? high - bit : t < low + bit ? low + bit : t;
            if (!(low < t && t < high)) t = middle;
        } else {
            slow = 0;
        }
        before = width;
        const double value = beyond(r, i, side, t);
        if (value > 0.) {
            high = t;
            above = value;
            if (last > 0) below *= 0.5;
            last = 1;
        } else {
            low = t;
            below = value;
            beyond_at_all = 0;
            if (last < 0) above *= 0.5;
            last = -1;
        }
    }
    return beyond_at_all ? turn(r, i, side, begin, end) : high;
}

/* Crossings that changed their signs: those that fire, at the beginning of r->fired; how many, and the signs they
   change to, into `sides`. Those of the other direction, at its end, from `others` on. */
static int firing(pl_run *r, double *sides, int *others)
{
    int n = 0;

    for (int k = 0; k < r->n_loud; k++) {
        const int32_t i = r->loud[k];
        const int direction = r->system->direction[i];
        const double now = r->new_signs[i];
        if (now == r->context->signs[i]) continue;
        if (direction != 0 && direction != now) {
            r->fired[--*others] = i;
            continue;
        }
        sides[n] = now;
        r->fired[n++] = i;
    }
    return n;
}

/* How far some crossings are at a time. */
static void note_flights(pl_run *r, const int32_t *events, int n, double t)
{
    for (int k = 0; k < n; k++)
        r->farthest[events[k]] = fmax(r->farthest[events[k]], fabs(beyond(r, events[k], 1.0, t)));
}

/* The first of those that changed their signs between two times, into r->located; its time, into first. */
static void first_root(pl_run *r, double low, double high, double *first)
{
    const int last = r->system->n_events;
    int others = last;
    double *sides = r->out;
    const int n = firing(r, sides, &others); /* what looks for a root may look at all anew */

    for (int k = 0; k < n; k++) {
        const double t = root(r, r->fired[k], sides[k], low, high);
        if (r->located >= 0 && !(t < *first)) continue;
        *first = t;
        r->located = r->fired[k];
    }
    if (r->located < 0) return;
    const double middle = 0.5 * (low + *first); /* a whole flight may lie before the first */
    note_flights(r, r->fired, n, middle);
    note_flights(r, r->fired + others, last - others, middle);
}

#define TINY 1e-6 /* of its size in a piece; what goes less far beyond zero and comes back is no crossing */

/* Of each crossing in a piece: its largest number at a node, nan if one is none, and its largest second difference. */
typedef struct {
    double *size, *bend; /* (n_places,) */
} shape;

static void note_shape(const double *known, int n, shape of)
{
    for (int i = 0; i < n; i++) of.size[i] = of.bend[i] = 0.0;
    for (int j = 0; j < PL_NODES; j++)
        for (int i = 0; i < n; i++) {
            const double size = fabs(known[j * n + i]);
            if (!(size <= of.size[i]) && !isnan(of.size[i])) of.size[i] = size;
        }
    for (int j = 1; j < PL_NODES - 1; j++)
        for (int i = 0; i < n; i++) {
            const double bend = fabs(known[(j - 1) * n + i] - 2.0 * known[j * n + i] + known[(j + 1) * n + i]);
            if (bend > of.bend[i]) of.bend[i] = bend;
        }
}

/* Is a crossing at the ends of a quarter of one sign, and nearer to zero than it bends? */
static int near_zero(const double *known, int n, shape of, int i, int quarter)
{
    const double first = known[quarter * n + i], last = known[(quarter + 1) * n + i];

    return first * last > 0.0 && fmin(fabs(first), fabs(last)) <= 0.25 * of.bend[i];
}

/* Does the quartic of any crossing pass zero within a quarter at whose ends it has one sign? */
static int there_and_back(pl_run *r, const double *known, shape of, int quarter)
{
    const int n = r->model->n_places;
    int any = 0;

    for (int i = 0; i < n && !any; i++) any = near_zero(known, n, of, i, quarter);
    for (int m = 1; any && m < 4; m++) {
        pl_quartic(known, (size_t)n, n, 0.25 * (quarter + 0.25 * m), r->out);
        for (int i = 0; i < n; i++) {
            const double v = r->out[i];
            if (!near_zero(known, n, of, i, quarter) || !(fabs(v) > TINY * of.size[i])) continue;
            if ((v > 0.0) != (known[quarter * n + i] > 0.0)) return 1;
        }
    }
    return 0;
}

/* Crossings at the points of the newest two pieces. */
static double *seen_in(const pl_run *r, int piece)
{
    return r->out + (size_t)r->model->n_places * (size_t)(3 + piece * PL_POINTS);
}

/* All crossings at a time, if that is a point of a piece; of the one before the ends are often points of the next. */
static const double *seen(const pl_run *r, int piece, double t)
{
    for (int j = 0; j < r->n_points[piece]; j++)
        if (r->points[piece][j] == t) return seen_in(r, piece) + j * r->model->n_places;
    return 0;
}

/* All crossings at a point of the newest piece, the next that is looked at. */
static const double *look_at_point(pl_run *r, int j, double t0, double t1)
{
    const int n = r->model->n_places;
    const double t = PL_PLACES[j] == 1.0 ? t1 : t0 + PL_PLACES[j] * (t1 - t0);
    const double *g = seen(r, !r->piece, t);
    double *row = seen_in(r, r->piece) + j * n;

    if (!g) {
        evaluate(r, t, state_at(r, t));
        g = r->g;
    }
    memcpy(row, g, sizeof(double) * (size_t)n);
    r->points[r->piece][j] = t;
    r->n_points[r->piece] = r->system->n_unknowns ? 0 : j + 1; /* a solution is where the search for the next begins */
    return row;
}

/* Does a quartic through five points of a piece follow every crossing, and show where each changes its sign? */
static int resolved(pl_run *r, double t0, double t1)
{
    const int n = r->model->n_places;
    const shape of = {r->out + n, r->out + 2 * n};

    r->piece = !r->piece;
    r->n_points[r->piece] = 0;
    const double *known = seen_in(r, r->piece);
    for (int j = 0; j < PL_NODES; j++) look_at_point(r, j, t0, t1);
    note_shape(known, n, of);
    for (int check = PL_NODES; check < PL_POINTS; check++) {
        const double *g = look_at_point(r, check, t0, t1);
        pl_quartic(known, (size_t)n, n, PL_PLACES[check], r->out);
        for (int i = 0; i < n; i++)
            if (fabs(r->out[i] - g[i]) > 0.05 * of.size[i]) return 0;
    }
    for (int quarter = 0; quarter < 4; quarter++)
        if (there_and_back(r, known, of, quarter)) return 0;
    return 1;
}

/* Signs at a time of the newest piece. */
static int signs_at(pl_run *r, double t)
{
    const double *g = r->settings->in_time ? seen(r, r->piece, t) : 0;

    if (!g) return pl_evaluate_crossings(r, t, state_at(r, t));
    memcpy(r->g, g, sizeof(double) * (size_t)r->model->n_places);
    note_looked_at(r);
    find_loud(r);
    if (!r->n_loud) return PL_DONE;
    pl_set_arguments(r, t, state_at(r, t)); /* for how those on their threshold move */
    return find_signs(r);
}

/* First crossing between two times of a step, into r->located; its time, into first. Signs are looked at in
   quarters and, where a crossing depends on t other than through states, so that step control cannot see it, in
   pieces that a quartic follows. */
static int search(pl_run *r, double t0, double t1, int depth, double *first)
{
    pl_context *c = r->context;

    if (r->settings->in_time && depth < 10 && !resolved(r, t0, t1)) {
        const double middle = 0.5 * (t0 + t1);
        const int reason = search(r, t0, middle, depth + 1, first);
        if (reason || r->located >= 0) return reason;
        return search(r, middle, t1, depth + 1, first);
    }
    double low = t0;
    for (int quarter = 1; quarter <= 4; quarter++) {
        const double high = quarter == 4 ? t1 : t0 + 0.25 * quarter * (t1 - t0);
        const int reason = signs_at(r, high);
        if (reason) {
            const double *x = state_at(r, high);
            c->t = high;
            if (r->model->nx) memcpy(c->x, x, sizeof(double) * (size_t)r->model->nx);
            return reason;
        }
        first_root(r, low, high, first);
        if (r->located >= 0) return PL_DONE;
        pl_note_farthest(r);
        for (int k = 0; k < r->n_loud; k++) pl_set_sign(r, r->loud[k], r->new_signs[r->loud[k]]);
        pl_all_looked_at(r);
        low = high;
    }
    return PL_DONE;
}

int pl_locate_crossing(pl_run *r)
{
    double first = INFINITY;

    r->n_points[0] = r->n_points[1] = 0; /* those are of an earlier step */
    const int reason = search(r, r->t0, r->t1, 0, &first);
    if (reason || r->located < 0) return reason;
    r->arrived = 1;
    if (!(first < r->t1)) return PL_DONE;
    r->t1 = first;
    if (!r->model->nx) return PL_DONE;
    if (r->integrated1 == r->x1) {
        memcpy(r->unprojected, r->x1, sizeof(double) * (size_t)r->model->nx);
        r->integrated1 = r->unprojected; /* the solution inside the step still needs its end */
    }
    pl_interpolate(r, first, r->x1);
    r->corrected = 1;
    return PL_DONE;
}
