/* Loops of events at one instant: gone through again until nothing that is read in them changes.

   The rules are those of event_loops.py. */

#include "event_loops.h"

#include "evaluate.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100 };

static const double ROUNDED = 0x1p-50; /* relative change of a number that is none */

void pl_begin_loops(pl_run *r)
{
    const pl_system *s = r->system;

    r->back = r->loop_rounds = r->at_end = 0;
    if (s->n_loops) memset(r->called, 0, sizeof *r->called * (size_t)s->n_segments);
}

int pl_skips(const pl_run *r, int segment)
{
    return r->back && segment != r->back - 1 && r->system->segment_loop[segment] != r->back - 1;
}

void pl_prepare_in_loop(pl_run *r, int segment)
{
    const pl_system *s = r->system;
    const int first = s->segment_start[segment], n = s->segment_start[segment + 1] - first;

    if (s->segment_loop[segment] < 0 || !n || s->segment_kind[segment] == PL_EXTERNAL || r->rounds) return;
    if (r->back)
        pl_set_held(r, s->segment_writes + first, r->held_before + first, n);
    else
        for (int j = first; j < first + n; j++) r->held_before[j] = r->context->h[s->segment_writes[j]];
}

static int differ(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++)
        if (!(a[k] == b[k] || fabs(a[k] - b[k]) <= ROUNDED * fmax(fabs(a[k]), fabs(b[k])))) return 1;
    return 0;
}

static int n_read(const pl_system *s, int segment) { return s->read_start[segment + 1] - s->read_start[segment]; }

static const double *reads(pl_run *r, int segment)
{
    pl_set_arguments(r, r->context->t, r->context->x);
    r->model->segments[segment](&r->a, r->out);
    return r->out + r->system->read_from[segment];
}

int pl_notes_anew(pl_run *r, int segment)
{
    const pl_system *s = r->system;
    const double *now = r->out + s->read_from[segment];
    double *before = r->read + s->read_start[segment];
    const int n = n_read(s, segment), changed = r->called[segment] && differ(now, before, n);

    memcpy(before, now, sizeof *before * (size_t)n);
    return changed;
}

int pl_reads_anew(pl_run *r, int segment)
{
    if (!r->system->n_loops || !n_read(r->system, segment)) return 0;
    reads(r, segment);
    return pl_notes_anew(r, segment);
}

void pl_count_again(pl_run *r, int segment)
{
    const int32_t *place = r->system->segment_rounds + segment;
    const double now = r->context->h[*place] + 1.0;

    pl_set_held(r, place, &now, 1);
}

int pl_end_round(pl_run *r, int segment)
{
    const pl_system *s = r->system;
    int changed = r->moved;

    for (int k = s->reader_start[segment]; !changed && k < s->reader_start[segment + 1]; k++) {
        const int i = s->readers[k];
        if (r->called[i]) changed = differ(reads(r, i), r->read + s->read_start[i], n_read(s, i));
    }
    r->at_end = 0;
    if (!changed) {
        r->back = r->loop_rounds = 0;
        return PL_DONE;
    }
    if (++r->loop_rounds >= ROUNDS) {
        r->index = segment;
        return PL_UNSETTLED;
    }
    r->back = segment + 1;
    r->segment = s->loop_first[segment] - 1; /* that comes next */
    return PL_DONE;
}
