/* Memory of a run: all of it is the host's, laid out once. */

#include "algebraic.h"
#include "crossing_search.h"
#include "delays.h"
#include "plantloop.h"

#include <math.h>
#include <string.h>

int pl_abi(void) { return PL_ABI; }

size_t pl_size_of_run(void) { return sizeof(pl_run); }

static size_t padded(size_t n) { return (n + 7) / 8 * 8; }

static size_t stage_doubles(const pl_model *m) { return padded((size_t)m->nx * PL_STAGES); }

static size_t out_doubles(const pl_model *m, const pl_system *s)
{
    size_t n = (size_t)(s->n_accepted > PL_SEARCH_ROWS * s->n_events ? s->n_accepted : PL_SEARCH_ROWS * s->n_events);
    for (int i = 0; i < s->n_segments; i++)
    {
        const size_t size = (size_t)s->segment_size[i], writes = (size_t)(s->segment_start[i + 1] - s->segment_start[i]);
        if (size > n) n = size;
        if (writes > n) n = writes;
    }
    if (s->n_invariants && (size_t)m->nx > n) n = (size_t)m->nx;
    if ((size_t)s->n_invariants > n) n = (size_t)s->n_invariants;
    if ((size_t)s->n_starting > n) n = (size_t)s->n_starting;
    return padded(n);
}

/* Newton's method: residual, Jacobian, step and start of the largest loop. */
static size_t newton_doubles(const pl_system *s)
{
    size_t n = (size_t)s->n_unknowns;
    for (int i = 0; i < s->n_segments; i++) {
        const size_t m = (size_t)(s->n_unknowns + s->segment_start[i + 1] - s->segment_start[i]);
        if (s->segment_kind[i] == PL_SOLVE && m > n) n = m;
    }
    return padded(n * n + 3 * n);
}

static int32_t most_pieces(const pl_model *m)
{
    const int32_t a = m->crossings->n_pieces, b = m->crossing_rates->n_pieces, c = m->resets->n_pieces;
    const int32_t some = a > b ? (a > c ? a : c) : b > c ? b : c;
    return some > m->accepted->n_pieces ? some : m->accepted->n_pieces;
}

/* Every state, in h or x, may be reset by an event. */
static size_t reset_by_doubles(const pl_model *m) { return padded((size_t)m->nx + (size_t)m->nh); }

/* All that can be logged: signals, then x, h and p. */
static size_t observable(const pl_model *m) { return (size_t)m->ny + (size_t)m->nx + (size_t)m->nh + (size_t)m->np; }

/* What events in loops read, and which have fired. */
static size_t loop_doubles(const pl_system *s)
{
    return s->n_loops ? padded((size_t)s->n_loops) + padded((size_t)s->read_start[s->n_loops]) : 0;
}

size_t pl_workspace_size(const pl_model *m, const pl_system *s)
{
    const size_t nx = padded((size_t)m->nx);
    size_t doubles = 6 * nx + stage_doubles(m) + padded(observable(m)) + padded((size_t)m->np) +
                     padded((size_t)m->nc) + padded((size_t)m->nv) + out_doubles(m, s) +
                     padded((size_t)s->n_events) + newton_doubles(s) + padded(pl_delay_doubles(s));
    doubles += padded((size_t)m->niv) + padded((size_t)s->n_rates) + padded(pl_delay_flags(s));
    doubles += 3 * padded((size_t)m->n_corners) + loop_doubles(s);
    doubles += padded((size_t)most_pieces(m)) + padded((size_t)m->accepted->n_pieces);
    if (s->n_events)
        doubles += 8 * padded((size_t)s->n_events) + 4 * padded((size_t)m->n_places) + padded((size_t)m->held_crossings->n_pieces) + padded((size_t)m->held_crossings->n_runs + 1) + 2 * padded((size_t)s->reset_start[s->n_events]) + reset_by_doubles(m);
    return (doubles + 16) * sizeof(double);
}

static double *take(double **next, size_t n)
{
    double *here = *next;
    *next += padded(n);
    return here;
}

void pl_instantiate(pl_run *r, void *workspace)
{
    const pl_model *m = r->model;
    const pl_system *s = r->system;
    const size_t nx = (size_t)m->nx;
    double *next = workspace;

    r->x0 = take(&next, nx);
    r->x1 = take(&next, nx);
    r->unprojected = take(&next, nx);
    r->integrated1 = r->x1;
    r->trial = take(&next, nx);
    r->f1 = take(&next, nx);
    r->k = take(&next, stage_doubles(m));
    r->scratch = take(&next, nx);
    r->y = take(&next, observable(m));
    r->prepared = take(&next, (size_t)m->np);
    r->c = take(&next, (size_t)m->nc);
    r->a.v = take(&next, (size_t)m->nv);
    r->out = take(&next, out_doubles(m, s));
    r->a.iv = r->iv = (long long *)take(&next, (size_t)m->niv);
    r->new_signs = take(&next, (size_t)s->n_events);
    r->newton = take(&next, newton_doubles(s));
    r->a.update_w = pl_update_w;
    r->a.owner = r;
    r->due = (int32_t *)take(&next, (size_t)s->n_rates);
    r->delay_seconds = take(&next, pl_delay_doubles(s));
    r->delay_samples = r->delay_seconds + s->n_delays;
    r->refined = (int32_t *)take(&next, pl_delay_flags(s));
    r->corners_before = take(&next, (size_t)m->n_corners);
    r->corners_behind = take(&next, (size_t)m->n_corners);
    r->corners_now = take(&next, (size_t)m->n_corners);
    r->wanted = (int32_t *)take(&next, (size_t)most_pieces(m));
    r->stale_accepted = (int32_t *)take(&next, (size_t)m->accepted->n_pieces);
    if (s->n_loops) {
        r->loop_fired = (int32_t *)take(&next, (size_t)s->n_loops);
        r->loop_read = take(&next, (size_t)s->read_start[s->n_loops]);
    }
    if (s->n_events) {
        r->fired = (int32_t *)take(&next, (size_t)s->n_events);
        r->farthest = take(&next, (size_t)s->n_events);
        r->largest = take(&next, (size_t)s->n_events);
        r->missed = take(&next, (size_t)s->n_events);
        r->g = take(&next, (size_t)m->n_places);
        r->side = take(&next, (size_t)m->n_places);
        r->limit = take(&next, (size_t)m->n_places);
        r->reached = take(&next, (size_t)m->n_places);
        r->g_rates = take(&next, (size_t)s->n_events);
        r->special = (int32_t *)take(&next, (size_t)s->n_events);
        r->loud = r->special + s->n_events; /* two integers have room in a double */
        r->stale_crossings = (int32_t *)take(&next, (size_t)m->held_crossings->n_pieces);
        r->looked_at = (int32_t *)take(&next, (size_t)m->held_crossings->n_runs + 1); /* two integers each */
        r->n_idle = (int32_t *)take(&next, (size_t)s->n_events);
        r->candidate = (int32_t *)take(&next, (size_t)s->n_events);
        r->behind = r->candidate + s->n_events; /* two integers have room in a double */
        r->resets = take(&next, (size_t)s->reset_start[s->n_events]);
        r->reset_now = (int32_t *)take(&next, (size_t)s->reset_start[s->n_events]);
        r->reset_by = (int32_t *)take(&next, reset_by_doubles(m));
        memset(r->reset_by, 0, reset_by_doubles(m) * sizeof(double));
    }
    r->shortest_delay = INFINITY;
    for (int i = 0; i < m->np; i++) r->prepared[i] = NAN; /* so that the first advance computes c */
    r->a.c = r->c;
    pl_reset(r);
}
