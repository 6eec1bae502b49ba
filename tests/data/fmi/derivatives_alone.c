/* unit_derivatives.c by itself: values of a unit are a function of the test, and a state is saved as it is. */

#include FILE_H
#include "story.h"

enum { MOST = 10 };
static double (*value_of)(unit *, uint32_t);
static int status_of[5]; /* of unit_unsettle, unit_save, unit_get, unit_load, unit_rates */
static double kept_x[MOST], kept_h[MOST], kept_p[MOST], kept_t[3];

void begin(double (*value)(unit *, uint32_t), const int *statuses)
{
    story[0] = 0, value_of = value;
    memcpy(status_of, statuses, sizeof status_of);
}

void pl_update_constants(pl_run *r) { note("constants "); }
void pl_set_arguments(pl_run *r, double t, const double *x) { r->a.t = t, r->a.x = x; note("arguments(%g,%g) ", t, x[0]); }
int unit_explain(unit *u, int reason) { note("explain(%d) ", reason); return UNIT_DISCARD; }
int unit_rates(unit *u) { note("rates "); return status_of[4]; }
int unit_unsettle(unit *u) { note("unsettle "); return status_of[0]; }
int unit_save(const unit *u, unit_bytes *into)
{
    note("save(%d) ", into == &u->aside);
    memcpy(kept_x, u->context.x, sizeof(double) * u->run.model->nx);
    memcpy(kept_h, u->context.h, sizeof(double) * u->run.model->nh);
    memcpy(kept_p, u->context.p, sizeof(double) * u->run.model->np);
    kept_t[0] = u->context.t, kept_t[1] = u->context.origin, kept_t[2] = u->start;
    return status_of[1];
}
int unit_load(unit *u, const unit_bytes *from)
{
    note("load(%d) ", from == &u->aside);
    memcpy(u->context.x, kept_x, sizeof(double) * u->run.model->nx);
    memcpy(u->context.h, kept_h, sizeof(double) * u->run.model->nh);
    memcpy(u->context.p, kept_p, sizeof(double) * u->run.model->np);
    u->context.t = kept_t[0], u->context.origin = kept_t[1], u->start = kept_t[2];
    u->renewed = 0, u->row_known = u->rates_known = 1;
    return status_of[3];
}
int unit_get(unit *u, uint32_t reference, double *value) { *value = value_of(u, reference); return status_of[2]; }
int unit_set(unit *u, uint32_t reference, double value)
{
    const unit_number *n = &u->model->numbers[reference];
    if (n->kind == UNIT_ZERO) return UNIT_OK;
    (n->kind == UNIT_STATE ? u->context.x : u->context.h)[n->place] = value;
    u->renewed = 1, u->row_known = u->rates_known = 0;
    return UNIT_OK;
}
void unit_say(const unit *u, int status, const char *category, const char *format, ...)
{
    char text[500];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    note("[%d %s %s]", status, category, text);
}

#include FILE_C
