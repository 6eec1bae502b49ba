/* Where in a step the first crossing changes its sign. */

#include "crossing_search.h"

#include "crossings.h"
#include "evaluate.h"
#include "invariants.h"
#include "quartic.h"
#include "step.h"

#include <math.h>
#include <string.h>

/* A crossing inside the step, above zero where it has crossed to `side`; `held`: where the invariants hold. */
static double beyond(pl_run *r, int32_t i, double side, double t, int held)
{
    const pl_parts *f = r->model->crossings;
    const int32_t *read = f->states + 2 * (f->n_pieces < 2 ? 0 : f->piece_of[i]);

    if (held && r->system->n_invariants) {
        pl_interpolate(r, t, r->scratch);
        pl_project(r, t, r->scratch);
    } else if (r->system->n_unknowns || r->system->n_delays) {
        pl_interpolate(r, t, r->scratch);
    } else {
        pl_interpolate_some(r, t, read[0], read[1], r->scratch);
    }
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

/* Where it was looked at last. */
static double sign_now(const pl_run *r, int i)
{
    for (int k = 0; k < r->n_loud; k++)
        if (r->loud[k] == i) return r->new_signs[i];
    return r->context->signs[i];
}

/* Where the sign of a crossing changes that is on its threshold all the way: it begins to move, or rests;
   crossings.py, _turn. */
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
    double below = beyond(r, i, side, low, 1), above = beyond(r, i, side, high, 1), before = INFINITY;
    const double begin = low, end = high;
    int slow = 0, last = 0, beyond_at_all = below > 0.;

    /* a jump before the step has put it there, where it rests; what moves there has a root */
    if (below == above && fabs(above) <= r->system->threshold[i]) return turn(r, i, side, begin, end);

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
        const double value = beyond(r, i, side, t, 1);
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
static int firing(pl_run *r, int32_t *sides, int *others)
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
        sides[n] = now > 0. ? 1 : -1;
        r->fired[n++] = i;
    }
    return n;
}

/* How far some crossings are at a time. */
static void note_flights(pl_run *r, const int32_t *events, int n, double t)
{
    for (int k = 0; k < n; k++)
        r->farthest[events[k]] = fmax(r->farthest[events[k]], fabs(beyond(r, events[k], 1.0, t, 0)));
}

/* The first of those that changed their signs between two times, into r->located; its time, into first. */
static void first_root(pl_run *r, double low, double high, double *first)
{
    const int last = r->system->n_events;
    int others = last;
    int32_t *sides = r->candidate; /* of no use before the instant */
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
        pl_look_at_crossings(r, t, state_at(r, t));
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
    pl_compare_crossings(r, g);
    if (!r->n_loud) return PL_DONE;
    pl_set_arguments(r, t, state_at(r, t)); /* for how those on their threshold move */
    return pl_find_signs(r);
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
    if (r->system->n_invariants) pl_project(r, first, r->x1); /* as it is after the event */
    r->corrected = 1;
    return PL_DONE;
}
