/* unit.c and unit_memory.c by themselves: the runtime is stubs, and every piece of memory is noted; files are named by
   the test that includes this. */

#include FILE_H
#include "histories.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct { char *at; size_t size; } taken[64];
static int calls, fails_at, resets;
static char said[512];
static void *instantiated_in;
static const pl_model *the_model;
static const pl_jacobian *the_jacobian;

static void forget(void *p)
{
    for (int i = 0; i < 64; i++) if (p && taken[i].at == p) { taken[i].at = NULL; return; }
    if (p) abort(); /* given back twice */
}
static void *note(void *p, size_t n)
{
    for (int i = 0; i < 64; i++) if (!taken[i].at) { taken[i].at = p, taken[i].size = n; return p; }
    abort();
}
static void *clean(size_t n, size_t size) { return ++calls == fails_at ? NULL : note(calloc(n, size), n * size); }
static void *raw(size_t n) { return ++calls == fails_at ? NULL : note(malloc(n), n); }
static void *longer(void *p, size_t n)
{
    if (++calls == fails_at) return NULL;
    if (p) forget(p);
    return note(realloc(p, n), n);
}
static void give_back(void *p) { forget(p); free(p); }
#define calloc clean
#define malloc raw
#define realloc longer
#define free give_back
#include FILE_C
#include FILE_MEMORY_C

const pl_model *pl_get_model(void) { return the_model; }
static const pl_jacobian *jacobian(void) { return the_jacobian; }
size_t pl_workspace_size(const pl_model *m, const pl_system *s) { return 23 * sizeof(double); }
size_t unit_derivative_doubles(const unit *u) { return u->run.model == the_model ? 19 : 0; }
void pl_instantiate(pl_run *r, void *workspace) { instantiated_in = workspace; }
void pl_reset(pl_run *r) { resets++; }
void unit_say(const unit *u, int status, const char *category, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int n = snprintf(said, sizeof said, "%d %s ", status, category);
    vsnprintf(said + n, sizeof said - (size_t)n, format, values);
    va_end(values);
}

static unit_model model;
void describe(const pl_model *m, const pl_jacobian *j, const pl_system *s, const pl_settings *set, const pl_stiff *f,
              const double *x, const double *h, const double *w, const double *p, int n_shown, int n_inputs)
{
    the_model = m, the_jacobian = j;
    model = (unit_model){.name = "model", .system = s, .settings = set, .stiff = f, .jacobian = jacobian, .x = x,
                         .h = h, .w = w, .p = p, .n_shown = n_shown, .n_inputs = n_inputs, .n_pieces = 3};
}
void *create(const char *name, int exchange, int fails)
{
    calls = resets = 0, fails_at = fails;
    return unit_create(&model, name, exchange);
}
void release(void *u) { fails_at = 0; unit_free(u); }
void begin_anew(void *u) { unit_reset(u); }
int reserve(void *u, int delay, int64_t capacity, int fails)
{ calls = 0, fails_at = fails; return unit_reserve(u, delay, capacity); }
int grow(void *u, int fails) { calls = 0, fails_at = fails; return unit_grow(u); }
int calls_made(void) { return calls; }
int resets_made(void) { return resets; }
int left(void) { int n = 0; for (int i = 0; i < 64; i++) n += taken[i].at != NULL; return n; }
size_t room_behind(const void *p) /* bytes from there to the end of the piece of memory it is in */
{
    for (int i = 0; i < 64; i++)
        if (taken[i].at && (const char *)p >= taken[i].at && (const char *)p < taken[i].at + taken[i].size)
            return (size_t)(taken[i].at + taken[i].size - (const char *)p);
    return 0;
}
pl_context *context_of(void *u) { return &((unit *)u)->context; }
pl_stiff *stiff_of(void *u) { return &((unit *)u)->stiff; }
pl_run *run_of(void *u) { return &((unit *)u)->run; }
pl_log *notes_of(void *u) { return &((unit *)u)->notes; }
void *workspace(void) { return instantiated_in; }
double *vector(void *v, int k)
{
    unit *u = v;
    double *all[] = {u->row, u->rates, u->old_x, u->kept, u->indicators, u->linear};
    return all[k];
}
size_t n_changing(void *u) { return ((unit *)u)->n_changing; }
void *changing(void *u) { return ((unit *)u)->changing; }
const char *name_of(void *u) { return ((unit *)u)->name; }
int is_exchange(void *u) { return ((unit *)u)->exchange; }
void spoil(void *v)
{
    unit *u = v;
    pl_context *c = &u->context;
    memset(u->changing, 85, u->n_changing * sizeof(int64_t));
    c->t = c->origin = c->step = c->error = 7.0;
    c->started = c->stopped = 1, c->n_stops = 2;
    for (int i = 0; i < model.system->n_delays; i++) c->histories[i].count = 3;
    u->settings.rtol = 5.0;
    u->mode = UNIT_FAILED, u->start = u->last = u->stop = u->regular = 5.0;
    u->settled = u->updated = u->renewed = u->off_invariants = u->due = u->row_known = u->rates_known = 1;
}
void standing(void *v, double *out)
{
    const unit *u = v;
    const double all[] = {u->mode, u->start, u->last, u->stop, u->regular, u->settled, u->updated, u->renewed,
                          u->off_invariants, u->due, u->row_known, u->rates_known, u->settings.rtol,
                          u->run.counters.refused_by, u->notes.log.capacity, u->shown.width, u->shown.n_pieces};
    memcpy(out, all, sizeof all);
}
int allowed(void *v, int mode, int modes) { ((unit *)v)->mode = mode; said[0] = 0; return unit_allowed(v, "fmiX", modes); }
const char *told(void) { return said; }
const char *mode_name(int mode) { return unit_mode_name(mode); }
