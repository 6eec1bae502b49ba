/* The functions of FMI 2.0 and FMI 3.0 by themselves: a unit is stubs that note their calls and answer what a test has
   chosen; files are named by the test that includes this. */

#include FILE_H
#include "story.h"
#include <stdlib.h>

static int chosen, given[40], n_given, without_memory;
static double number;

static int answer(void) /* the next of those that were given, else the one that was chosen */
{
    const int first = given[0];
    if (!n_given) return chosen;
    n_given--;
    memmove(given, given + 1, sizeof given - sizeof *given);
    return first;
}
void begin(int answers, int n, const int *one_by_one, double value)
{
    story[0] = 0, chosen = answers, n_given = n, number = value;
    for (int i = 0; i < n; i++) given[i] = one_by_one[i];
}
void take_memory(int all) { without_memory = all; }

/* Numbers 0; 1 to 3; 4 and 5; 6. */
static const int32_t sizes[] = {1, 3, 0, 0, 2, 0, 1, 1}, none[] = {0, 0}, three[] = {0, 1, 3, 3}, one[] = {0, 2};
static const uint32_t on_three[] = {0, 4, 6}, on_one[] = {5, 3};
static const unit_depends depends[] = {{0, 1, none, on_one}, {1, 3, three, on_three}, {6, 1, one, on_one}, {0}};
static pl_system the_system;
static pl_model the_code;
static double the_nominal[3] = {0.5, 2.0, 4.0};
const unit_model unit_exported = {.name = "m", .token = "{token}", .system = &the_system, .n_numbers = 7, .sizes = sizes,
                                  .depends = depends};

static unit *last_made;
unit *made_last(void) { return last_made; }
unit *unit_create(const unit_model *m, const char *name, int exchange)
{
    if (without_memory) return NULL;
    note("create(%s,%d) ", name, exchange);
    unit *u = last_made = calloc(1, sizeof *u);
    u->model = m, u->name = (char *)name, u->exchange = exchange, u->mode = UNIT_INSTANTIATED, u->run.model = &the_code;
    return u;
}
/* An instance in a mode, with states and crossings. */
unit *instance(int mode, int exchange, int nx, int n_events, double *x, double *rates)
{
    unit *u = unit_create(&unit_exported, "i", exchange);
    the_code.nx = nx, the_system.n_events = n_events, the_system.nominal = the_nominal;
    u->mode = mode, u->context.x = x, u->rates = rates;
    return u;
}
void unit_free(unit *u) { note("free(%d) ", u != NULL); free(u); }
void unit_reset(unit *u) { note("reset "); }
int unit_allowed(unit *u, const char *function, int modes)
{
    if (u->mode & modes) return 1;
    note("[%s is not allowed]", function);
    return 0;
}
int unit_get(unit *u, uint32_t reference, double *value) { note("get(%u) ", (unsigned)reference); *value = number + reference; return answer(); }
int unit_set(unit *u, uint32_t reference, double value) { note("set(%u,%g) ", (unsigned)reference, value); return answer(); }
int unit_begin(unit *u, int tolerance_defined, double tolerance, double start, int stop_defined, double stop)
{
    note("begin(%d,%g,%g,%d,%g) ", tolerance_defined, tolerance, start, stop_defined, stop);
    return answer();
}
int unit_settle(unit *u) { note("settle "); return answer(); }
int unit_unsettle(unit *u) { note("unsettle "); return answer(); }
int unit_initialised(unit *u) { note("initialised "); return answer(); }
int unit_rates(unit *u) { note("rates "); return answer(); }
int unit_step(unit *u, double t, double h, unit_arrival *arrival)
{
    note("step(%g,%g) ", t, h);
    const int ended = (int)number & 1, event = (int)number & 2, early = (int)number & 4;
    *arrival = (unit_arrival){.last = t + h, .ended = ended, .event = event, .early = early};
    return answer();
}
int unit_enter_event_mode(unit *u) { note("event_mode "); u->mode = UNIT_EVENT; return answer(); }
int unit_update_states(unit *u, unit_update *update)
{
    const int terminate = (int)number & 1, changed = (int)number & 2, next = (int)number & 4;
    note("update(%d%d%d) ", update->terminate, update->values_changed, update->next_defined);
    *update = (unit_update){.terminate = terminate, .values_changed = changed, .next_defined = next, .next = 7.5};
    return answer();
}
int unit_enter_continuous_mode(unit *u) { note("continuous_mode "); return answer(); }
int unit_completed_step(unit *u, int *enter_event_mode, int *terminate)
{
    note("completed ");
    *enter_event_mode = (int)number & 2, *terminate = (int)number & 4;
    return answer();
}
int unit_indicators(unit *u, double *values) { note("indicators "); values[0] = number; return answer(); }
void unit_set_time(unit *u, double t) { note("time(%g) ", t); }
void unit_set_states(unit *u, const double *x) { note("states(%g) ", x[0]); }
int unit_save(const unit *u, unit_bytes *into)
{
    note("save(%d) ", (int)into->size);
    if (!into->values) into->values = malloc(4);
    memcpy(into->values, "abcd", 4);
    into->size = 4;
    return answer();
}
int unit_load(unit *u, const unit_bytes *from) { note("load(%d) ", (int)from->size); return answer(); }
size_t unit_saved_size(const unit_bytes *state) { return state->size; }
int unit_restore_bytes(unit *u, const void *bytes, size_t size, unit_bytes **into)
{
    note("restore(%.*s,%d) ", (int)size, (const char *)bytes, into != NULL);
    return answer();
}
static int derivative(const char *name, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                      const double *seed, double *result)
{
    note("%s(", name);
    for (size_t i = 0; i < n_unknowns; i++) note("%u ", (unsigned)unknowns[i]);
    note("by ");
    for (size_t i = 0; i < n_knowns; i++) note("%u ", (unsigned)knowns[i]);
    note("%g) ", seed ? seed[0] : 0.0);
    result[0] = number;
    return answer();
}
int unit_forward(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result)
{
    return derivative("forward", unknowns, n_unknowns, knowns, n_knowns, seed, result);
}
int unit_adjoint(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result)
{
    return derivative("adjoint", unknowns, n_unknowns, knowns, n_knowns, seed, result);
}
int unit_output_rates(unit *u, const uint32_t *outputs, size_t n, double *result)
{
    return derivative("slopes", outputs, n, NULL, 0, NULL, result);
}
void unit_say(const unit *u, int status, const char *category, const char *format, ...)
{
    char text[500];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    note("[%d %s]", status, text);
}

/* What the importer gives. */
void logger_2(void *environment, const char *name, int status, const char *category, const char *format, ...)
{
    char text[4000];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    note("<%d %s %d %s %s>", environment != NULL, name, status, category, text);
}
void logger_3(void *environment, int status, const char *category, const char *message)
{
    note("<%d %d %s %s>", environment != NULL, status, category, message);
}
void log_with(const unit *u, int status, const char *category, const char *message) { u->log(u, status, category, message); }
