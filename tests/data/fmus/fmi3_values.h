/* Values of a test unit as FMI 3.0: arrays one after the other, both counts checked. Part of fmi3.c. */
#define GETTER(Type, family, width, member)                                                                          \
    fmi3Status fmi3Get##Type(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3##Type value[], size_t total) \
    {                                                                                                                \
        size_t at = 0;                                                                                               \
        ALLOW(ANY & ~FAILED, "fmi3Get" #Type);                                                                       \
        refresh(u);                                                                                                  \
        for (size_t k = 0; k < n; k++) {                                                                             \
            const int i = place(u, vr[k], family, width);                                                            \
            if (i < 0 || !ticks(u, &TABLE[i])) return fmi3Error;                                                     \
            for (size_t j = 0; j < unit_size(u, i); j++) {                                                           \
                if (at >= total) return fmi3Error;                                                                   \
                value[at++] = i == 0 ? (fmi3##Type)u->time : (fmi3##Type)u->cell[TABLE[i].first + j].member;         \
            }                                                                                                        \
        }                                                                                                            \
        return at == total ? fmi3OK : fmi3Error;                                                                     \
    }
#define SETTER(Type, family, width, member)                                                                          \
    fmi3Status fmi3Set##Type(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3##Type value[], size_t total) \
    {                                                                                                                \
        size_t at = 0;                                                                                               \
        ALLOW(ANY & ~FAILED & ~TERMINATED, "fmi3Set" #Type);                                                         \
        for (size_t k = 0; k < n; k++) {                                                                             \
            const int i = place(u, vr[k], family, width);                                                            \
            if (i < 0 || !settable(u, &TABLE[i]) || !ticks(u, &TABLE[i])) return fmi3Error;                          \
            if (TABLE[i].settable == 2 && u->mode != CONFIGURATION) {                                                \
                say(u, ERROR, "logStatusError", "%s is set in configuration mode only", TABLE[i].name);             \
                return fmi3Error;                                                                                    \
            }                                                                                                        \
            for (size_t j = 0; j < unit_size(u, i); j++) {                                                           \
                if (at >= total) return fmi3Error;                                                                   \
                u->cell[TABLE[i].first + j].member = value[at++];                                                    \
            }                                                                                                        \
        }                                                                                                            \
        return at == total ? fmi3OK : fmi3Error;                                                                     \
    }
#define BOTH(Type, family, width, member) GETTER(Type, family, width, member) SETTER(Type, family, width, member)
BOTH(Float64, FLOAT, 64, d)
BOTH(Float32, FLOAT, 32, d)
BOTH(Int8, SIGNED, 8, i)
BOTH(Int16, SIGNED, 16, i)
BOTH(Int32, SIGNED, 32, i)
BOTH(Int64, SIGNED, 64, i)
BOTH(UInt8, UNSIGNED, 8, u)
BOTH(UInt16, UNSIGNED, 16, u)
BOTH(UInt32, UNSIGNED, 32, u)
BOTH(UInt64, UNSIGNED, 64, u)
BOTH(Boolean, SIGNED, 1, i)

fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3String value[], size_t total)
{
    ALLOW(ANY & ~FAILED, "fmi3GetString");
    refresh(u);
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], STRING, 0);
        if (i < 0 || n != total) return fmi3Error;
        value[k] = u->text[TABLE[i].first].data;
    }
    return fmi3OK;
}

fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3String value[], size_t total)
{
    ALLOW(ANY & ~FAILED & ~TERMINATED, "fmi3SetString");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], STRING, 0);
        if (i < 0 || n != total || strlen(value[k]) >= ROOM) return fmi3Error;
        strcpy(u->text[TABLE[i].first].data, value[k]);
    }
    return fmi3OK;
}

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, size_t size[], fmi3Binary value[], size_t total)
{
    ALLOW(ANY & ~FAILED, "fmi3GetBinary");
    refresh(u);
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], BINARY, 0);
        if (i < 0 || n != total) return fmi3Error;
        size[k] = u->text[TABLE[i].first].size;
        value[k] = (fmi3Binary)u->text[TABLE[i].first].data;
    }
    return fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const size_t size[], const fmi3Binary value[], size_t total)
{
    ALLOW(ANY & ~FAILED & ~TERMINATED, "fmi3SetBinary");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], BINARY, 0);
        if (i < 0 || n != total || size[k] > ROOM) return fmi3Error;
        u->text[TABLE[i].first].size = size[k];
        memcpy(u->text[TABLE[i].first].data, value[k], size[k]);
    }
    return fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Clock value[])
{
    ALLOW(EVENT | (u->clock_update ? STEP : 0), "fmi3GetClock");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], CLOCK, 0);
        if (i < 0) return fmi3Error;
        value[k] = (u->ticked & TABLE[i].clocks) != 0;
        u->ticked &= ~TABLE[i].clocks;
    }
    return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[])
{
    ALLOW(EVENT, "fmi3SetClock");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], CLOCK, 0);
        if (i < 0 || !TABLE[i].input) return fmi3Error;
        if (value[k]) u->active |= TABLE[i].clocks;
    }
#if N_CLOCKS
    model_tick(u, u->time);
#endif
    return fmi3OK;
}
