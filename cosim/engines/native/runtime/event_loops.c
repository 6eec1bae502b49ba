/* Events in loops at one instant: repeated where what they have read there has changed since.

   The rules are those of event_loops.py. */

#include "event_loops.h"

#include "evaluate.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100, REPEATED = 2 };

static const double ROUNDED = 0x1p-50; /* relative change of a number that is none */

void pl_begin_loops(pl_run *r)
{
    r->loop_rounds = 0;
    for (int i = 0; i < r->system->n_loops; i++) r->loop_fired[i] = 0;
}

static const double *reads(pl_run *r, int i)
{
    pl_set_arguments(r, r->context->t, r->context->x);
    r->model->segments[r->system->loop_segment[i]](&r->a, r->out);
    return r->out + r->system->read_from[i];
}

static int n_read(const pl_run *r, int i) { return r->system->read_start[i + 1] - r->system->read_start[i]; }

static void note(pl_run *r, int i, const double *now)
{
    memcpy(r->loop_read + r->system->read_start[i], now, sizeof *now * (size_t)n_read(r, i));
}

void pl_note_read(pl_run *r, int segment)
{
    for (int i = 0; i < r->system->n_loops; i++)
        if (r->system->loop_segment[i] == segment) note(r, i, reads(r, i));
}

void pl_note_fired(pl_run *r)
{
    const pl_system *s = r->system;

    for (int i = 0; i < s->n_loops; i++)
        for (int k = 0; k < r->n_fired; k++)
            if (s->timed_segment[r->fired[k]] == s->loop_segment[i]) r->loop_fired[i] = 1;
}

static int differ(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++)
        if (!(a[k] == b[k] || fabs(a[k] - b[k]) <= ROUNDED * fmax(fabs(a[k]), fabs(b[k])))) return 1;
    return 0;
}

int pl_repeat_events(pl_run *r)
{
    const pl_system *s = r->system;
    int any = 0;

    for (int i = 0; i < s->n_loops; i++) {
        const double *now = reads(r, i);
        const int again = r->loop_fired[i] && differ(now, r->loop_read + s->read_start[i], n_read(r, i));
        note(r, i, now);
        if (r->loop_fired[i]) r->loop_fired[i] = again ? REPEATED : 1;
        any |= again;
        if (!again) continue;
        const double rounds = r->context->h[s->loop_place[i]] + 1.0;
        pl_set_held(r, s->loop_place + i, &rounds, 1);
    }
    r->loop_rounds += any;
    return r->loop_rounds > ROUNDS ? PL_UNSETTLED : any;
}
