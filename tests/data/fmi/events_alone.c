/* unit_events.c and unit_messages.c by themselves: the runtime and the rest of a unit are stubs that note their calls
   and answer what a test has chosen; files are named by the test that includes this. */

#include FILE_H
#include "story.h"
#include <math.h>

static int answers[40], n_answers, failing;
static double next_stop, given[20];

static int answer(void) /* the next of those that were chosen, then 0 */
{
    const int first = answers[0];
    if (!n_answers) return 0;
    n_answers--;
    memmove(answers, answers + 1, sizeof answers - sizeof *answers);
    return first;
}
static int fails(int call) { return failing == call; }

void pl_update_constants(pl_run *r) { note("constants "); }
void pl_set_arguments(pl_run *r, double t, const double *x) { r->a.t = t, r->a.x = x; note("arguments(%g) ", t); }
void pl_forget_missed(pl_run *r) { note("missed "); }
int pl_project(pl_run *r, double t, double *x) { note("project(%g) ", t); x[0] += 1.0; return 0; }
void pl_begin_events(pl_run *r, int located, int which) { note("begin(%d,%d) ", located, which); }
int pl_handle_events(pl_run *r) { const int found = answer(); note("handle "); r->round += found < 0; return found < 0 ? 0 : found; }
double pl_next_stop(const pl_run *r) { return next_stop; }
void pl_count_ticks(pl_run *r, double t) { note("count(%.17g) ", t); }
int pl_run_segments(pl_run *r)
{
    const int found = answer();
    note("segments(%d,%d,%d) ", r->segment, r->rounds, r->again);
    r->segment += 3;
    return found;
}
void pl_begin_timed_events(pl_run *r, int segment) { note("timed(%d) ", segment); }
void pl_schedule_delayed_jumps(pl_run *r) { note("jumps "); }
int pl_limit_by_delays(pl_run *r, double t, const double *x) { note("delays(%g) ", t); r->shortest_delay = given[0]; return answer(); }
void pl_evaluate_derivative(pl_run *r, double t, const double *x, double *f) { note("derivative(%g,%g) ", t, x[0]); f[0] = 5.0; }
void pl_record_delayed(pl_run *r)
{
    note("record(%g,%g,%g,%d,%d,%d) ", r->t0, r->t1, r->end, r->settings->method.adaptive, r->stiff != NULL, r->end_known);
    r->settings->rtol = 99.0;
}
int pl_update_accepted(pl_run *r, double t, const double *x) { note("accepted(%g,%g) ", t, x ? x[0] : 0.0); return answer(); }
void pl_evaluate_some(pl_run *r, const pl_parts *f, const int32_t *places, int n, double *out)
{
    if (n) note("%srates(%d) ", f == r->model->crossing_rates ? "" : "no ", n);
    for (int i = 0; i < n; i++) out[places[i]] = given[10 + places[i]];
}
int unit_grow(unit *u) { note("grow "); return !fails(1); }
int unit_save(const unit *u, unit_bytes *into) { note("save(%d) ", into == &u->before); return fails(2) ? UNIT_ERROR : UNIT_OK; }
int unit_load(unit *u, const unit_bytes *from)
{
    note("load(%d) ", from == &u->before);
    for (int i = 0; i < u->run.model->nh; i++) u->context.h[i] = -1.0;
    for (int i = 0; i < u->run.model->np; i++) u->context.p[i] = -1.0;
    return fails(3) ? UNIT_ERROR : UNIT_OK;
}
int unit_execute(unit *u) { note("execute "); u->context.x[0] += given[1]; return answer(); }

#include FILE_EVENTS_C
#include FILE_MESSAGES_C

static void results(const pl_args *a, double *out) { note("results(%g) ", a->t); memcpy(out, given, sizeof given); }
static void to_story(const unit *u, int status, const char *category, const char *text) { note("[%d %s %s]", status, category, text); }

pl_function results_function(void) { return results; }
unit_log log_function(void) { return to_story; }
void begin(int n, const int *chosen, int fails_at, double next, const double *numbers)
{
    story[0] = 0, n_answers = n, failing = fails_at, next_stop = next;
    for (int i = 0; i < n; i++) answers[i] = chosen[i];
    for (int i = 0; i < 20; i++) given[i] = numbers[i];
}
void say(const unit *u, int status, double a, const char *b) { unit_say(u, status, "kind", "%g and %s", a, b); }
