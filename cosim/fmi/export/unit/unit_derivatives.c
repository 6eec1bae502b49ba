/* Directional and adjoint derivatives of what the model computes with respect to what may be set.

   The code is made by automatic differentiation (derivative_code.py): one function that is given a direction in
   states, time, inputs and parameters and returns the rates of all derivatives, signals and crossings, and one that is given
   weights of these and returns the derivatives of their weighted sum. In initialization mode, where everything is
   found through the ticks of the start, differences take their place. */

#include "unit.h"

#include "evaluate.h"

#include <math.h>
#include <string.h>

/* Sizes of the two sides. */
static size_t n_known(const unit *u)
{
    return (size_t)u->run.model->nx + 1 + (size_t)u->model->n_inputs + (size_t)u->run.model->np;
}

static size_t n_results(const unit *u)
{
    return (size_t)u->run.model->nx + (size_t)u->model->n_shown + (size_t)u->model->system->n_events;
}

/* Room for both functions: their constants and scratch, what they are given, what they return. */
size_t unit_derivative_doubles(const unit *u)
{
    const unit_model *m = u->model;
    const pl_jacobian *codes[] = {m->forward ? m->forward() : NULL, m->adjoint ? m->adjoint() : NULL};
    size_t most = 0;
    int any = 0;

    for (int i = 0; i < 2; i++) {
        if (!codes[i]) continue;
        any = 1;
        const size_t n = (size_t)codes[i]->nc + (size_t)codes[i]->nv + (size_t)codes[i]->niv;
        if (n > most) most = n;
    }
    return any ? most + (size_t)u->run.model->nx + n_known(u) + n_results(u) : 0;
}

/* What is given, behind the states; results follow it. */
static double *cleared(unit *u)
{
    double *given = u->linear + u->run.model->nx;
    memset(given, 0, sizeof(double) * (n_known(u) + n_results(u)));
    return given;
}

static int evaluate(unit *u, const pl_jacobian *code, double *results)
{
    pl_run *r = &u->run;
    pl_context *c = &u->context;
    const size_t nx = (size_t)r->model->nx;
    double *constants = u->linear + nx + n_known(u) + n_results(u);

    pl_update_constants(r);
    pl_set_arguments(r, c->t, c->x);
    if (r->unsolved) return unit_explain(u, PL_NO_SOLUTION);
    pl_args a = r->a;
    a.v = constants + code->nc;
    a.iv = (long long *)(a.v + code->nv);
    if (nx) memcpy(u->linear, c->x, sizeof(double) * nx);
    a.x = u->linear;
    code->prepare(&a, constants);
    a.c = constants;
    code->values(&a, results);
    return UNIT_OK;
}

/* Place of a number among what is known; -1: it is none. */
static int64_t known_place(const unit *u, uint32_t reference)
{
    const unit_model *m = u->model;
    const int64_t nx = u->run.model->nx;
    if (reference >= m->n_numbers) return -1;
    const unit_number *n = &m->numbers[reference];

    switch (n->kind) {
    case UNIT_STATE: return n->place;
    case UNIT_TIME: return nx;
    case UNIT_PARAMETER: return nx + 1 + m->n_inputs + n->place;
    case UNIT_INPUT:
        for (int32_t i = 0; i < m->n_inputs; i++)
            if (m->inputs[i] == n->place) return nx + 1 + i;
        return -1;
    default: return -1;
    }
}

static int64_t result_place(const unit *u, uint32_t reference)
{
    const unit_model *m = u->model;
    if (reference >= m->n_numbers) return -1;
    const unit_number *n = &m->numbers[reference];
    if (n->kind == UNIT_RATE) return n->place;
    if (n->kind == UNIT_INDICATOR) return u->run.model->nx + m->n_shown + n->place;
    return n->kind == UNIT_SIGNAL ? u->run.model->nx + n->place : -1;
}

static int places_fit(const unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns,
                      size_t n_knowns)
{
    for (size_t i = 0; i < n_unknowns + n_knowns; i++) {
        const int known = i >= n_unknowns;
        const uint32_t reference = known ? knowns[i - n_unknowns] : unknowns[i];
        if ((known ? known_place(u, reference) : result_place(u, reference)) >= 0) continue;
        if (known && reference < u->model->n_numbers && u->model->numbers[reference].kind == UNIT_ZERO) continue;
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: the variable with value reference %u is no %s of derivatives.",
                 u->model->name, (unsigned)reference, known ? "known" : "unknown");
        return 0;
    }
    return 1;
}

/* Does the start execute anything that sets values? */
static int settled_by_ticks(const unit *u)
{
    const pl_system *s = u->model->system;
    return u->mode == UNIT_INITIALIZATION &&
           (s->n_segments || s->n_starting || s->n_invariants || s->n_events || s->n_rates);
}

static double as_set(const unit *u, uint32_t reference)
{
    const pl_context *c = &u->context;
    const unit_number *n = &u->model->numbers[reference];
    switch (n->kind) {
    case UNIT_TIME: return c->t;
    case UNIT_STATE: return c->x[n->place];
    case UNIT_PARAMETER: return c->p[n->place];
    default: return c->h[n->place];
    }
}

static int is_time(const unit *u, uint32_t reference) { return u->model->numbers[reference].kind == UNIT_TIME; }

/* Set a known, also to what a tool may not: a parameter beyond its limit, or the start of the run, with all that is
   counted from it. */
static int move(unit *u, uint32_t reference, double by)
{
    pl_context *c = &u->context;
    const unit_number *n = &u->model->numbers[reference];

    if (n->kind != UNIT_TIME && n->kind != UNIT_PARAMETER) return unit_set(u, reference, as_set(u, reference) + by);
    if (n->kind == UNIT_PARAMETER) c->p[n->place] += by;
    else c->origin = c->t = u->start = u->start + by;
    u->row_known = u->rates_known = 0;
    u->renewed = 1;
    return UNIT_OK;
}

/* The unknowns where the knowns, time or all others, are moved by so much times the seed; everything is found anew from
   what was set. */
static int moved(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, int of_time, double by, double weight, double *result)
{
    int status = UNIT_OK;

    for (size_t k = 0; k < n_knowns && !status; k++)
        if (seed[k] != 0.0 && is_time(u, knowns[k]) == of_time) status = move(u, knowns[k], by * seed[k]);
    for (size_t i = 0; i < n_unknowns && !status; i++) {
        double value;
        status = unit_get(u, unknowns[i], &value);
        result[i] += weight * value;
    }
    const int restored = unit_load(u, &u->aside);
    return status ? status : restored;
}

static const double SMALL = 6e-6; /* the cube root of rounding */

/* The part of a derivative that is along time: what lies before the start is not asked about, as a listed instant may
   be there. */
static int after_start(unit *u, const uint32_t *unknowns, size_t n_unknowns, uint32_t time, double seed, double *result)
{
    static const double weights[] = {-1.5, 2.0, -0.5}; /* second order */
    const double h = SMALL * fmax(1.0, fabs(u->start)), one = 1.0;
    int status = UNIT_OK;

    for (int i = 0; i < 3 && !status; i++)
        status = moved(u, unknowns, n_unknowns, &time, 1, &one, 1, i * h, weights[i] * seed / h, result);
    return status;
}

/* Central difference along a direction; forward along time. */
static int difference(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                      const double *seed, double *result)
{
    double size = 0.0, scale = 1.0;
    int status = unit_unsettle(u);

    memset(result, 0, sizeof(double) * n_unknowns);
    if (!status) status = unit_save(u, &u->aside);
    for (size_t k = 0; k < n_knowns && !status; k++) {
        if (seed[k] == 0.0) continue;
        if (is_time(u, knowns[k])) {
            status = after_start(u, unknowns, n_unknowns, knowns[k], seed[k], result);
            continue;
        }
        scale = fmax(scale, fabs(as_set(u, knowns[k])));
        size = fmax(size, fabs(seed[k]));
    }
    if (status || size == 0.0) return status;
    const double h = SMALL * scale / size;
    for (int side = -1; side <= 1 && !status; side += 2)
        status = moved(u, unknowns, n_unknowns, knowns, n_knowns, seed, 0, side * h, side / (2.0 * h), result);
    return status;
}

int unit_forward(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result)
{
    if (!places_fit(u, unknowns, n_unknowns, knowns, n_knowns)) return UNIT_ERROR;
    if (settled_by_ticks(u)) return difference(u, unknowns, n_unknowns, knowns, n_knowns, seed, result);
    double *given = cleared(u), *results = given + n_known(u);
    for (size_t k = 0; k < n_knowns; k++) {
        const int64_t place = known_place(u, knowns[k]);
        if (place >= 0) given[place] += seed[k];
    }
    const int status = evaluate(u, u->model->forward(), results);
    for (size_t i = 0; i < n_unknowns && !status; i++) result[i] = results[result_place(u, unknowns[i])];
    return status;
}

int unit_adjoint(unit *u, const uint32_t *unknowns, size_t n_unknowns, const uint32_t *knowns, size_t n_knowns,
                 const double *seed, double *result)
{
    if (!places_fit(u, unknowns, n_unknowns, knowns, n_knowns)) return UNIT_ERROR;
    if (settled_by_ticks(u)) {
        const double one = 1.0;
        int status = UNIT_OK;
        for (size_t k = 0; k < n_knowns && !status; k++) {
            result[k] = 0.0;
            for (size_t i = 0; i < n_unknowns && !status; i++) {
                double slope;
                if (seed[i] == 0.0) continue;
                status = difference(u, unknowns + i, 1, knowns + k, 1, &one, &slope);
                result[k] += seed[i] * slope;
            }
        }
        return status;
    }
    double *given = cleared(u), *results = given + n_results(u);
    for (size_t i = 0; i < n_unknowns; i++) given[result_place(u, unknowns[i])] += seed[i];
    const int status = evaluate(u, u->model->adjoint(), results);
    for (size_t k = 0; k < n_knowns && !status; k++) {
        const int64_t place = known_place(u, knowns[k]);
        result[k] = place < 0 ? 0.0 : results[place];
    }
    return status;
}

/* Rates of outputs in time, at the end of a step: states move with their derivatives, inputs are held. */
int unit_output_rates(unit *u, const uint32_t *outputs, size_t n, double *result)
{
    const size_t nx = (size_t)u->run.model->nx;
    int status = unit_rates(u);

    for (size_t i = 0; i < n; i++) {
        const int64_t place = result_place(u, outputs[i]);
        if (place >= (int64_t)nx) continue;
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: the variable with value reference %u is no output.",
                 u->model->name, (unsigned)outputs[i]);
        return UNIT_ERROR;
    }
    double *given = cleared(u), *results = given + n_known(u);
    if (nx) memcpy(given, u->rates, sizeof(double) * nx);
    given[nx] = 1.0;
    if (!status) status = evaluate(u, u->model->forward(), results);
    for (size_t i = 0; i < n && !status; i++) result[i] = results[result_place(u, outputs[i])];
    return status;
}
