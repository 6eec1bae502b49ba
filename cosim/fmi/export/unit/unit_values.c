/* The numbers of an instance by reference. */

#include "unit.h"

#include <math.h>

int unit_get(unit *u, uint32_t reference, double *value)
{
    const unit_model *m = u->model;
    const pl_context *c = &u->context;

    if (reference >= m->n_numbers) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: no variable has the value reference %u.", m->name,
                 (unsigned)reference);
        return UNIT_ERROR;
    }
    const unit_number *n = &m->numbers[reference];
    if (u->mode == UNIT_INITIALIZATION && n->kind != UNIT_PARAMETER && n->kind != UNIT_INPUT) {
        const int status = unit_settle(u);
        if (status) return status;
    }
    switch (n->kind) {
    case UNIT_TIME: *value = c->t; return UNIT_OK;
    case UNIT_PARAMETER: *value = c->p[n->place]; return UNIT_OK;
    case UNIT_STATE: *value = c->x[n->place]; return UNIT_OK;
    case UNIT_INPUT:
    case UNIT_HELD:
    case UNIT_DISCRETE: *value = c->h[n->place]; return UNIT_OK;
    case UNIT_ZERO: *value = 0.0; return UNIT_OK;
    case UNIT_RATE: {
        const int status = unit_rates(u);
        *value = u->rates[n->place];
        return status;
    }
    case UNIT_INDICATOR: {
        const int status = unit_indicators(u, u->indicators);
        *value = u->indicators[n->place];
        return status;
    }
    default: {
        const int status = unit_signals(u);
        *value = u->row[n->place];
        return status;
    }
    }
}

static int not_set(const unit *u, uint32_t reference, const char *why)
{
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: the variable with value reference %u cannot be set: %s.",
             u->model->name, (unsigned)reference, why);
    return UNIT_ERROR;
}

/* What a parameter may be; null where that is anything. */
static const unit_limit *limit_of(const unit_model *m, int32_t place)
{
    int32_t first = 0, end = m->n_limits;

    while (first < end) {
        const int32_t middle = (first + end) / 2;
        if (m->limits[middle].place < place) first = middle + 1;
        else end = middle;
    }
    return first < m->n_limits && m->limits[first].place == place ? &m->limits[first] : NULL;
}

static int is_beyond(const unit_limit *l, double value)
{
    if (l->lower && (value < l->low || (l->lower == 2 && value == l->low))) return 1;
    return l->upper && (value > l->high || (l->upper == 2 && value == l->high));
}

int unit_set(unit *u, uint32_t reference, double value)
{
    const unit_model *m = u->model;
    pl_context *c = &u->context;

    if (reference >= m->n_numbers) return not_set(u, reference, "there is none");
    const unit_number *n = &m->numbers[reference];
    if (n->kind == UNIT_ZERO && value == 0.0) return UNIT_OK;
    if (n->kind == UNIT_ZERO) return not_set(u, reference, "it is zero by the structure of the model");
    if (n->kind == UNIT_TIME || n->kind == UNIT_RATE || n->kind == UNIT_SIGNAL || n->kind == UNIT_INDICATOR)
        return not_set(u, reference, "the model computes it");
    const int before_start = u->mode & (UNIT_INSTANTIATED | UNIT_INITIALIZATION | UNIT_CONFIGURATION);
    if (n->kind != UNIT_PARAMETER && n->kind != UNIT_INPUT && !before_start)
        return not_set(u, reference, "it is a start value, and the run is under way");
    if (n->kind == UNIT_PARAMETER && u->mode == UNIT_CONTINUOUS)
        return not_set(u, reference, "parameters change in event mode");
    if (isnan(value)) return not_set(u, reference, "the value is not a number");
    const unit_limit *limit = n->kind == UNIT_PARAMETER ? limit_of(m, n->place) : NULL;
    if (limit && is_beyond(limit, value)) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: parameter '%s' is set to %.9g; it has to be %s.", m->name,
                 limit->name, value, limit->text);
        return UNIT_ERROR;
    }
    if (u->mode == UNIT_INITIALIZATION) {
        const int status = unit_unsettle(u);
        if (status) return status;
    }
    switch (n->kind) {
    case UNIT_INPUT: c->h[n->place] = value; break;
    case UNIT_PARAMETER: c->p[n->place] = value; break;
    case UNIT_STATE: c->x[n->place] = value; break;
    case UNIT_DISCRETE: c->next[n->place] = value; /* fall through */
    default: c->h[n->place] = value;
    }
    u->row_known = u->rates_known = 0;
    u->renewed = 1;
    return UNIT_OK;
}
