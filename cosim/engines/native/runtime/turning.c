/* Coordinates that turn with bodies: what they are and why is said in cosim/engines/methods/turning.py. */

#include "turning.h"

#include <math.h>
#include <string.h>

static const double LIKE = 0.5;

/* Where the states of a body are: columns of a row of the table. */
enum { ATTITUDE = 0, PLACE = 4, SPIN = 7, VELOCITY = 10, BLOCK = 13, COLUMNS = 14 };

static const int32_t *row_of(const pl_run *r, int i) { return r->system->bodies + COLUMNS * i; }
static int in_space(const int32_t *row) { return row[1] >= 0; }

static void get(const double *x, const int32_t *places, int n, double *out)
{
    for (int k = 0; k < n; k++) out[k] = places[k] >= 0 ? x[places[k]] : 0.0;
}

static void put(double *x, const int32_t *places, int n, const double *values)
{
    for (int k = 0; k < n; k++)
        if (places[k] >= 0) x[places[k]] = values[k];
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double *a, const double *b, double *out)
{
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* v turned by the quaternion e, whose vector part is taken times sign. */
static void turn(const double *e, double sign, const double *v, double *out)
{
    const double u[3] = {sign * e[1], sign * e[2], sign * e[3]};
    double aside[3];
    const double scale = 2.0 * e[0] * e[0] - 1.0, along = 2.0 * dot(u, v);

    cross(u, v, aside);
    for (int k = 0; k < 3; k++) out[k] = scale * v[k] + along * u[k] + 2.0 * e[0] * aside[k];
}

/* Product of quaternions, in place of b. */
static void times(const double *a, double *b)
{
    double aside[3];
    const double scalar = a[0] * b[0] - dot(a + 1, b + 1), old = b[0];

    cross(a + 1, b + 1, aside);
    for (int k = 0; k < 3; k++) b[1 + k] = a[0] * b[1 + k] + old * a[1 + k] + aside[k];
    b[0] = scalar;
}

/* Half the angular velocity w times the quaternion e: its rate. */
static void rate_of(const double *w, const double *e, double *out)
{
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};

    memcpy(out, e, 4 * sizeof(double));
    times(half, out);
}

/* The quaternion exp(s w/2). */
static void half_turn(const double *w, double s, double *e)
{
    const double size = sqrt(dot(w, w));
    const double per = size > 0.0 ? sin(0.5 * s * size) / size : 0.0;

    e[0] = cos(0.5 * s * size);
    for (int k = 0; k < 3; k++) e[1 + k] = per * w[k];
}

/* The integral over s of u turning with w. */
static void drifted(const double *w, const double *u, double s, double *out)
{
    const double size = sqrt(dot(w, w));

    if (!(size > 0.0)) {
        for (int k = 0; k < 3; k++) out[k] = s * u[k];
        return;
    }
    double aside[3];
    const double half = sin(0.5 * s * size), share = dot(w, u) / size / size;
    cross(w, u, aside);
    for (int k = 0; k < 3; k++) {
        const double along = w[k] * share;
        out[k] = sin(s * size) / size * (u[k] - along) + 2.0 * half * half * (aside[k] / size / size) + s * along;
    }
}

static void look_at(const pl_run *r, int i, const double *x, const double *f)
{
    pl_frame *b = r->stiff->frames + i;
    const int32_t *row = row_of(r, i);
    double attitude[4], spin[3], change[3];

    get(x, row + ATTITUDE, 4, attitude);
    get(x, row + SPIN, 3, spin);
    get(f, row + SPIN, 3, change);
    if (in_space(row)) {
        turn(attitude, 1.0, spin, b->own);
        turn(attitude, 1.0, change, change);
    } else {
        memcpy(b->own, spin, sizeof spin);
    }
    const double size = dot(b->own, b->own);
    b->unsteady = size > 0.0 ? sqrt(dot(change, change)) / size : INFINITY;
}

/* Does the velocity of body i change no faster in axes that turn with w? */
static int fits(const pl_run *r, int i, const double *w, const double *x, const double *f)
{
    const int32_t *places = row_of(r, i) + VELOCITY;
    double v[3], a[3], left[3], slack = 0.0;

    get(x, places, 3, v);
    get(f, places, 3, a);
    cross(w, v, left);
    for (int k = 0; k < 3; k++) {
        left[k] = a[k] - left[k];
        if (places[k] < 0) continue;
        const double atol = r->settings->atol * r->system->nominal[places[k]];
        slack = atol > slack ? atol : slack;
    }
    return sqrt(dot(left, left)) <= sqrt(dot(a, a)) + slack * sqrt(dot(w, w));
}

/* The body that body i turns like and whose axis turns least. */
static int leader_of(const pl_run *r, int i)
{
    const pl_frame *all = r->stiff->frames, *b = all + i;
    int best = i;
    double least = INFINITY;

    if (!(dot(b->own, b->own) > 0.0)) return i;
    for (int j = 0; j < r->system->n_bodies; j++) {
        const double *w = all[j].own;
        const double apart[3] = {w[0] - b->own[0], w[1] - b->own[1], w[2] - b->own[2]};
        const double size = dot(w, w);
        if (row_of(r, j)[BLOCK] != row_of(r, i)[BLOCK] || !(size > 0.0)) continue;
        if (dot(apart, apart) <= LIKE * LIKE * size && all[j].unsteady < least) {
            least = all[j].unsteady;
            best = j;
        }
    }
    return best;
}

static void choose(const pl_run *r, int i, const double *x, const double *f)
{
    pl_frame *b = r->stiff->frames + i;
    const int j = leader_of(r, i);
    const pl_frame *leader = r->stiff->frames + j;
    double there[3], arm[3];

    memcpy(b->turn, leader->own, sizeof b->turn);
    get(x, row_of(r, i) + PLACE, 3, b->start);
    memset(b->screw, 0, sizeof b->screw);
    memset(b->drift, 0, sizeof b->drift);
    if (!(dot(b->own, b->own) > 0.0) || !fits(r, j, b->turn, x, f) || !fits(r, i, b->turn, x, f)) return;
    memcpy(b->screw, b->turn, sizeof b->screw);
    get(x, row_of(r, j) + PLACE, 3, there);
    get(x, row_of(r, j) + VELOCITY, 3, b->drift);
    for (int k = 0; k < 3; k++) arm[k] = b->start[k] - there[k];
    cross(b->turn, arm, arm);
    for (int k = 0; k < 3; k++) b->drift[k] = b->drift[k] + arm[k];
}

void pl_begin_turning(pl_run *r, const double *x, const double *f)
{
    const int n = r->system->n_bodies;

    r->stiff->turns = 0;
    for (int i = 0; i < n; i++) {
        look_at(r, i, x, f);
        if (dot(r->stiff->frames[i].own, r->stiff->frames[i].own) > 0.0) r->stiff->turns = 1;
    }
    for (int i = 0; r->stiff->turns && i < n; i++) choose(r, i, x, f);
}

void pl_turn_states(const pl_run *r, double s, double *z)
{
    for (int i = 0; i < r->system->n_bodies; i++) {
        const pl_frame *b = r->stiff->frames + i;
        const int32_t *row = row_of(r, i);
        double e[4], v[4], moved[3];

        half_turn(b->screw, s, e);
        get(z, row + VELOCITY, 3, v);
        turn(e, 1.0, v, v);
        put(z, row + VELOCITY, 3, v);
        get(z, row + PLACE, 3, v);
        for (int k = 0; k < 3; k++) v[k] = v[k] - b->start[k];
        turn(e, 1.0, v, v);
        drifted(b->screw, b->drift, s, moved);
        for (int k = 0; k < 3; k++) v[k] = b->start[k] + v[k] + moved[k];
        put(z, row + PLACE, 3, v);
        if (in_space(row)) {
            half_turn(b->turn, s, e);
            get(z, row + ATTITUDE, 4, v);
            times(e, v);
            put(z, row + ATTITUDE, 4, v);
        } else {
            z[row[ATTITUDE]] += s * b->turn[2];
        }
    }
}

void pl_turn_field(const pl_run *r, double s, const double *z, double *f)
{
    for (int i = 0; i < r->system->n_bodies; i++) {
        const pl_frame *b = r->stiff->frames + i;
        const int32_t *row = row_of(r, i);
        double e[4], v[4], at[4], rate[4];

        half_turn(b->screw, s, e);
        get(f, row + VELOCITY, 3, v);
        get(z, row + VELOCITY, 3, at);
        turn(e, -1.0, v, v);
        cross(b->screw, at, rate);
        for (int k = 0; k < 3; k++) v[k] = v[k] - rate[k];
        put(f, row + VELOCITY, 3, v);
        get(f, row + PLACE, 3, v);
        get(z, row + PLACE, 3, at);
        turn(e, -1.0, v, v);
        for (int k = 0; k < 3; k++) at[k] = at[k] - b->start[k];
        cross(b->screw, at, rate);
        for (int k = 0; k < 3; k++) v[k] = v[k] - b->drift[k] - rate[k];
        put(f, row + PLACE, 3, v);
        if (in_space(row)) {
            half_turn(b->turn, -s, e);
            get(f, row + ATTITUDE, 4, v);
            get(z, row + ATTITUDE, 4, at);
            times(e, v);
            rate_of(b->turn, at, rate);
            for (int k = 0; k < 4; k++) v[k] = v[k] - rate[k];
            put(f, row + ATTITUDE, 4, v);
        } else {
            f[row[ATTITUDE]] -= b->turn[2];
        }
    }
}

/* Take a number from the Jacobian; its place is in the pattern. */
static void subtract(const pl_stiff *s, int32_t row, int32_t column, double value)
{
    if (row < 0 || column < 0) return;
    for (int32_t k = s->column_start[column]; k < s->column_start[column + 1]; k++)
        if (s->rows[k] == row) s->jacobian[k] -= value;
}

/* slope += J moved for states of the bodies */
static void add_product(const pl_stiff *s, const int32_t *places, int n, const double *moved)
{
    for (int c = 0; c < n; c++) {
        if (places[c] < 0) continue;
        for (int32_t k = s->column_start[places[c]]; k < s->column_start[places[c] + 1]; k++)
            s->slope[s->rows[k]] += s->jacobian[k] * moved[c];
    }
}

/* slope -= A'(0) f and J -= A'(0) in the rows of three numbers that turn with w */
static void turn_vector(const pl_stiff *s, const int32_t *places, const double *w, const double *f)
{
    double v[3];

    get(f, places, 3, v);
    cross(w, v, v);
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        if (places[k] >= 0) s->slope[places[k]] -= v[k];
        subtract(s, places[k], places[b], w[a]);
        subtract(s, places[k], places[a], -w[b]);
    }
}

static void turn_attitude(const pl_stiff *s, const int32_t *places, const double *w, const double *f)
{
    double v[4], rate[4];

    get(f, places, 4, v);
    rate_of(w, v, rate);
    for (int k = 0; k < 4; k++) s->slope[places[k]] -= rate[k];
    for (int c = 0; c < 4; c++) {
        const double unit[4] = {c == 0, c == 1, c == 2, c == 3};
        rate_of(w, unit, rate);
        for (int k = 0; k < 4; k++) subtract(s, places[k], places[c], rate[k]);
    }
}

void pl_turn_jacobian(pl_run *r, const double *x, const double *f)
{
    const pl_stiff *s = r->stiff;

    for (int i = 0; i < r->system->n_bodies; i++) {
        const pl_frame *b = s->frames + i;
        const int32_t *row = row_of(r, i);
        double v[4], rate[4];

        get(x, row + VELOCITY, 3, v);
        cross(b->screw, v, rate);
        add_product(s, row + VELOCITY, 3, rate);
        add_product(s, row + PLACE, 3, b->drift);
        get(x, row + ATTITUDE, 4, v);
        rate_of(b->turn, v, rate);
        if (in_space(row))
            add_product(s, row + ATTITUDE, 4, rate);
        else
            add_product(s, row + ATTITUDE, 1, b->turn + 2);
    }
    for (int i = 0; i < r->system->n_bodies; i++) {
        const pl_frame *b = s->frames + i;
        const int32_t *row = row_of(r, i);

        turn_vector(s, row + VELOCITY, b->screw, f);
        turn_vector(s, row + PLACE, b->screw, f);
        if (in_space(row)) turn_attitude(s, row + ATTITUDE, b->turn, f);
    }
}
