#include "fmu_values.h"

#include <float.h>
#include <math.h>

#define EACH(type, statement)                                                                                        \
    {                                                                                                                \
        type *v = b->values;                                                                                         \
        for (int64_t k = 0; k < b->total; k++) { statement; }                                                        \
        break;                                                                                                       \
    }

/* Whole numbers from `low` to `high`, which a double holds exactly. */
#define WHOLE(type, low, high)                                                                                       \
    EACH(type, const double x = row[b->places[k]]; if (!(x == floor(x) && x >= (low) && x <= (high))) return 1;      \
         v[k] = (type)x)

static const double EXACT = 0x1p53; /* integers up to this are doubles */

/* 1 where a number of a row is no item of the enumeration it is for. */
static int is_no_item(const pl_fmu_batch *b, const double *row)
{
    for (int64_t k = 0; k < b->total; k++) {
        const double *item = b->items + b->items_from[k], *const end = b->items + b->items_from[k + 1];
        if (item == end) continue;
        while (item < end && *item != row[b->places[k]]) item++;
        if (item == end) return 1;
    }
    return 0;
}

int pl_put_values(const pl_fmu_batch *b, const double *row)
{
    if (b->items && is_no_item(b, row)) return 1;
    switch (b->kind) {
    case PL_FMU_DOUBLE: EACH(double, v[k] = row[b->places[k]])
    case PL_FMU_FLOAT:
        EACH(float, const double x = row[b->places[k]]; if (fabs(x) > FLT_MAX && !isinf(x)) return 1; v[k] = (float)x)
    case PL_FMU_BOOL: EACH(_Bool, if (isnan(row[b->places[k]])) return 1; v[k] = row[b->places[k]] != 0.0)
    case PL_FMU_INT_BOOL: EACH(int, if (isnan(row[b->places[k]])) return 1; v[k] = row[b->places[k]] != 0.0)
    case PL_FMU_INT: WHOLE(int32_t, INT32_MIN, INT32_MAX)
    case PL_FMU_INT8: WHOLE(int8_t, INT8_MIN, INT8_MAX)
    case PL_FMU_UINT8: WHOLE(uint8_t, 0, UINT8_MAX)
    case PL_FMU_INT16: WHOLE(int16_t, INT16_MIN, INT16_MAX)
    case PL_FMU_UINT16: WHOLE(uint16_t, 0, UINT16_MAX)
    case PL_FMU_UINT32: WHOLE(uint32_t, 0, UINT32_MAX)
    case PL_FMU_INT64: WHOLE(int64_t, -EXACT, EXACT)
    case PL_FMU_UINT64: WHOLE(uint64_t, 0, EXACT)
    default: return 1;
    }
    return 0;
}

int pl_take_values(const pl_fmu_batch *b, double *row)
{
    switch (b->kind) {
    case PL_FMU_DOUBLE: EACH(double, row[b->places[k]] = v[k])
    case PL_FMU_FLOAT: EACH(float, row[b->places[k]] = v[k])
    case PL_FMU_BOOL: EACH(_Bool, row[b->places[k]] = v[k])
    case PL_FMU_INT_BOOL: EACH(int, row[b->places[k]] = v[k] != 0)
    case PL_FMU_INT: EACH(int32_t, row[b->places[k]] = v[k])
    case PL_FMU_INT8: EACH(int8_t, row[b->places[k]] = v[k])
    case PL_FMU_UINT8: EACH(uint8_t, row[b->places[k]] = v[k])
    case PL_FMU_INT16: EACH(int16_t, row[b->places[k]] = v[k])
    case PL_FMU_UINT16: EACH(uint16_t, row[b->places[k]] = v[k])
    case PL_FMU_UINT32: EACH(uint32_t, row[b->places[k]] = v[k])
    case PL_FMU_INT64:
        EACH(int64_t, const int64_t most = (int64_t)1 << 53; if (v[k] > most || v[k] < -most) return 1;
             row[b->places[k]] = (double)v[k])
    case PL_FMU_UINT64:
        EACH(uint64_t, if (v[k] > (uint64_t)1 << 53) return 1; row[b->places[k]] = (double)v[k])
    default: return 1;
    }
    return 0;
}
