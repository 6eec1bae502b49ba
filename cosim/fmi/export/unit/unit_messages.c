/* Log lines: what went wrong, in the names of the model. */

#include "unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { LENGTH = 1000 };

void unit_say(const unit *u, int status, const char *category, const char *format, ...)
{
    char text[LENGTH];
    va_list values;

    if (!u->log || (status < UNIT_DISCARD && !u->verbose)) return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    u->log(u, status, category, text);
}

/* The first number of a row that is none. */
static int32_t not_finite(const double *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return i;
    return -1;
}

static const char *no_number(const unit *u)
{
    const pl_run *r = &u->run;
    const unit_model *m = u->model;
    int32_t found;

    if (r->index >= 0) return m->segment_names[r->index];
    if (r->index == PL_IN_RESET) return m->event_names[r->other];
    found = not_finite(r->index == PL_IN_STEP ? r->x1 : u->context.x, r->model->nx);
    if (found < 0) found = not_finite(r->k, r->model->nx);
    return found < 0 ? "a signal" : m->state_names[found];
}

int unit_explain(unit *u, int reason)
{
    pl_run *r = &u->run;
    const unit_model *m = u->model;
    const double t = u->context.t;
    const char *category = "logStatusDiscard";

    switch (reason) {
    case PL_NOT_FINITE:
        unit_say(u, UNIT_DISCARD, category, "%s: '%s' is not finite at t=%.9g s (last finite t=%.9g s).", m->name,
                 no_number(u), t, r->last_good);
        break;
    case PL_COLLAPSED:
        unit_say(u, UNIT_DISCARD, category,
                 "%s: the step size collapses at t=%.9g s; state '%s' limits it. Give a looser tolerance, or export "
                 "with a solver for stiff systems.",
                 m->name, t, m->state_names[r->index]);
        break;
    case PL_ENDLESS: {
        const int64_t limiting = r->counters.refused_by;
        unit_say(u, UNIT_DISCARD, category,
                 "%s: at t=%.9g s steps are so small that they do not come to t=%.9g s%s%s%s. Export with a solver "
                 "for stiff systems, or take shorter communication steps.",
                 m->name, t, r->until, limiting < 0 ? "" : "; state '",
                 limiting < 0 ? "" : m->state_names[limiting], limiting < 0 ? "" : "' limits them");
        break;
    }
    case PL_CHATTERING:
        unit_say(u, UNIT_DISCARD, category, "%s: events follow each other without end at t=%.9g s: '%s'.", m->name, t,
                 m->event_names[r->n_fired ? r->fired[0] : 0]);
        break;
    case PL_NO_LAST_ROUND:
        unit_say(u, UNIT_DISCARD, category, "%s: transitions of '%s' follow each other without end at t=%.9g s.",
                 m->name, m->segment_names[r->index], t);
        break;
    case PL_CONFLICT:
        unit_say(u, UNIT_DISCARD, category, "%s: events '%s' and '%s' reset the same state at t=%.9g s.", m->name,
                 m->event_names[r->index], m->event_names[r->other], t);
        break;
    case PL_NO_SIGN:
        unit_say(u, UNIT_DISCARD, category, "%s: the crossing '%s' is not finite at t=%.9g s.", m->name,
                 m->event_names[r->index], t);
        break;
    case PL_NO_SOLUTION:
        unit_say(u, UNIT_DISCARD, category, "%s: an algebraic loop%s%s has no solution found at t=%.9g s.", m->name,
                 r->unsolved_segment >= 0 ? " at a tick of " : "",
                 r->unsolved_segment >= 0 ? m->segment_names[r->unsolved_segment] : "", r->unsolved_time);
        break;
    case PL_UNMET:
        unit_say(u, UNIT_DISCARD, category,
                 "%s: a constraint cannot be met any more at t=%.9g s, as where a mechanism locks or is driven beyond its "
                 "reach.",
                 m->name, r->t1);
        break;
    case PL_NO_DELAY:
        unit_say(u, UNIT_DISCARD, category, "%s: a delay is not positive at t=%.9g s.", m->name, t);
        break;
    default:
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: the run ended for reason %d at t=%.9g s.", m->name, reason, t);
        return UNIT_ERROR;
    }
    r->unsolved = 0;
    return UNIT_DISCARD;
}
