/* A host of an exported unit of FMI 2.0, linked with its sources: everything is called once, in order and not, so that
   sanitizers see it. Prints the outputs it was given at the end of each run; usage: host GUID STATES INDICATORS
   REFERENCE... */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*logger)(void *, const char *, int, const char *, const char *, ...);
typedef struct {
    logger log;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} callbacks;
typedef struct {
    int needed, terminate, nominals, values, defined;
    double next;
} event_info;

void *fmi2Instantiate(const char *, int, const char *, const char *, const callbacks *, int, int);
void fmi2FreeInstance(void *);
int fmi2SetupExperiment(void *, int, double, double, int, double);
int fmi2EnterInitializationMode(void *);
int fmi2ExitInitializationMode(void *);
int fmi2Terminate(void *);
int fmi2Reset(void *);
int fmi2GetReal(void *, const unsigned *, size_t, double *);
int fmi2SetReal(void *, const unsigned *, size_t, const double *);
int fmi2GetFMUstate(void *, void **);
int fmi2SetFMUstate(void *, void *);
int fmi2FreeFMUstate(void *, void **);
int fmi2SerializedFMUstateSize(void *, void *, size_t *);
int fmi2SerializeFMUstate(void *, void *, char *, size_t);
int fmi2DeSerializeFMUstate(void *, const char *, size_t, void **);
int fmi2DoStep(void *, double, double, int);
int fmi2EnterEventMode(void *);
int fmi2NewDiscreteStates(void *, event_info *);
int fmi2EnterContinuousTimeMode(void *);
int fmi2CompletedIntegratorStep(void *, int, int *, int *);
int fmi2SetTime(void *, double);
int fmi2SetContinuousStates(void *, const double *, size_t);
int fmi2GetDerivatives(void *, double *, size_t);
int fmi2GetEventIndicators(void *, double *, size_t);
int fmi2GetContinuousStates(void *, double *, size_t);
int fmi2GetNominalsOfContinuousStates(void *, double *, size_t);

static int lines;

static void log_line(void *environment, const char *name, int status, const char *category, const char *text, ...)
{
    char line[4096];
    va_list values;
    (void)environment, (void)name, (void)category, (void)status;
    va_start(values, text);
    vsnprintf(line, sizeof line, text, values);
    va_end(values);
    lines++;
}

static const callbacks CALLS = {log_line, calloc, free, NULL, NULL};
static int failures;

static void expect(int status, int wanted, const char *what)
{
    if (status == wanted) return;
    failures++;
    fprintf(stderr, "%s: %d, expected %d\n", what, status, wanted);
}

static void begin(void *c)
{
    expect(fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0), 0, "setup");
    expect(fmi2EnterInitializationMode(c), 0, "enter");
    expect(fmi2ExitInitializationMode(c), 0, "exit");
}

static void show(void *c, const unsigned *refs, size_t n)
{
    double values[64];
    expect(fmi2GetReal(c, refs, n, values), 0, "get");
    for (size_t i = 0; i < n; i++) printf("%a ", values[i]);
    printf("\n");
}

static void stepped(const char *guid, const unsigned *refs, size_t n)
{
    void *c = fmi2Instantiate("one", 1, guid, NULL, &CALLS, 0, 1), *state = NULL, *again = NULL;
    size_t size = 0;

    expect(fmi2DoStep(c, 0.0, 0.1, 1), 3, "step too early");
    begin(c);
    for (int k = 0; k < 50; k++) expect(fmi2DoStep(c, k * 0.01, 0.01, 1), 0, "step");
    expect(fmi2GetFMUstate(c, &state), 0, "save");
    for (int k = 50; k < 80; k++) expect(fmi2DoStep(c, k * 0.01, 0.01, 1), 0, "step");
    show(c, refs, n);
    expect(fmi2SerializedFMUstateSize(c, state, &size), 0, "size");
    char *bytes = malloc(size);
    expect(fmi2SerializeFMUstate(c, state, bytes, size), 0, "serialise");
    expect(fmi2DeSerializeFMUstate(c, bytes, size, &again), 0, "deserialise");
    expect(fmi2DeSerializeFMUstate(c, bytes, size - 9, &again), 3, "half a state");
    expect(fmi2SetFMUstate(c, again), 0, "the one that is there");
    expect(fmi2DeSerializeFMUstate(c, bytes, size, &again), 0, "deserialise again");
    expect(fmi2SetFMUstate(c, again), 0, "load");
    for (int k = 50; k < 80; k++) expect(fmi2DoStep(c, k * 0.01, 0.01, 1), 0, "step");
    show(c, refs, n);
    expect(fmi2FreeFMUstate(c, &state), 0, "free state");
    expect(fmi2FreeFMUstate(c, &again), 0, "free state");
    free(bytes);
    expect(fmi2Reset(c), 0, "reset");
    begin(c);
    for (int k = 0; k < 80; k++) expect(fmi2DoStep(c, k * 0.01, 0.01, 1), 0, "step");
    show(c, refs, n);
    expect(fmi2Terminate(c), 0, "terminate");
    fmi2FreeInstance(c);
}

/* Euler's method, so that all of model exchange is called. */
static void exchanged(const char *guid, size_t nx, size_t nz, const unsigned *refs, size_t n)
{
    void *c = fmi2Instantiate("two", 0, guid, NULL, &CALLS, 0, 0);
    double x[256], f[256], z[256], old[256], t = 0.0;
    event_info info;

    begin(c);
    expect(fmi2NewDiscreteStates(c, &info), 0, "events");
    expect(fmi2EnterContinuousTimeMode(c), 0, "continuous");
    expect(fmi2GetNominalsOfContinuousStates(c, x, nx), 0, "nominals");
    expect(fmi2GetContinuousStates(c, x, nx), 0, "states");
    expect(fmi2GetEventIndicators(c, old, nz), 0, "indicators");
    for (int k = 1; k <= 300; k++) {
        int event, end;
        double next = k * 0.002;
        if (info.defined && info.next < next) next = info.next;
        expect(fmi2GetDerivatives(c, f, nx), 0, "derivatives");
        for (size_t i = 0; i < nx; i++) x[i] += (next - t) * f[i];
        t = next;
        expect(fmi2SetTime(c, t), 0, "time");
        expect(fmi2SetContinuousStates(c, x, nx), 0, "set states");
        expect(fmi2GetEventIndicators(c, z, nz), 0, "indicators");
        expect(fmi2CompletedIntegratorStep(c, 1, &event, &end), 0, "completed");
        for (size_t i = 0; i < nz; i++) event |= (z[i] > 0.0) != (old[i] > 0.0);
        if (!event && !(info.defined && t >= info.next)) continue;
        expect(fmi2EnterEventMode(c), 0, "event");
        expect(fmi2NewDiscreteStates(c, &info), 0, "events");
        expect(fmi2EnterContinuousTimeMode(c), 0, "continuous");
        expect(fmi2GetContinuousStates(c, x, nx), 0, "states");
        expect(fmi2GetEventIndicators(c, old, nz), 0, "indicators");
    }
    show(c, refs, n);
    fmi2FreeInstance(c); /* without terminating */
}

int main(int argc, char **argv)
{
    unsigned refs[64];
    size_t n = 0;

    for (int i = 4; i < argc && n < 64; i++) refs[n++] = (unsigned)atoi(argv[i]);
    if (fmi2Instantiate("none", 1, "{}", NULL, &CALLS, 0, 0)) failures++;
    stepped(argv[1], refs, n);
    exchanged(argv[1], (size_t)atoi(argv[2]), (size_t)atoi(argv[3]), refs, n);
    if (lines < 2) failures++;
    return failures != 0;
}
