/* Memory of the past of delays, and of the instants that follow from it. */

#include "unit.h"

#include "histories.h"

#include <stdlib.h>

int unit_reserve(unit *u, int32_t delay, int64_t capacity)
{
    pl_history *h = &u->context.histories[delay];
    const size_t n = (size_t)capacity, size = 5 * (size_t)pl_delay_size(u->model->system, delay);

    if (h->capacity >= capacity) return 1;
    double *starts = realloc(h->starts, sizeof(double) * n);
    if (starts) h->starts = starts;
    double *ends = realloc(h->ends, sizeof(double) * n);
    if (ends) h->ends = ends;
    double *values = realloc(h->values, sizeof(double) * n * size);
    if (values) h->values = values;
    if (!starts || !ends || !values) return 0;
    h->capacity = capacity;
    return 1;
}

/* Room for more of the past; 0 where there is no memory. */
int unit_grow(unit *u)
{
    pl_context *c = &u->context;
    const int32_t n = u->model->system->n_delays;

    for (int32_t i = 0; i < n; i++)
        if (c->histories[i].capacity - c->histories[i].count < PL_PIECES &&
            !unit_reserve(u, i, 2 * c->histories[i].capacity + PL_PIECES))
            return 0;
    if (c->stops_capacity - c->n_stops >= n) return 1;
    const int64_t capacity = 2 * (c->stops_capacity + n) + 32;
    double *stops = realloc(c->stops, sizeof(double) * (size_t)capacity);
    if (!stops) return 0;
    c->stops = stops;
    c->stops_capacity = capacity;
    return 1;
}
