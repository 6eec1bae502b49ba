/* A host that loads the binary of an exported unit of FMI 2.0 as an importer does, steps it a hundred times over 0.01 s, and
   prints outputs; usage: load BINARY GUID REFERENCE... */

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>
#define OPEN(path) LoadLibraryA(path)
#define LOOK_UP(library, name) (void *)GetProcAddress(library, name)
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define LOOK_UP(library, name) dlsym(library, name)
#endif

typedef struct {
    void *log, *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *finished, *environment;
} callbacks;
typedef void *(*instantiate)(const char *, int, const char *, const char *, const callbacks *, int, int);
typedef int (*set_up)(void *, int, double, double, int, double);
typedef int (*change_mode)(void *);
typedef int (*step)(void *, double, double, int);
typedef int (*get_real)(void *, const unsigned *, size_t, double *);
typedef void (*release)(void *);

static void silent(void) {}

int main(int count, char **given)
{
    void *const unit = (void *)OPEN(given[1]);
    const callbacks functions = {(void *)silent, calloc, free, 0, 0};

    if (!unit) return 1;
    void *const c = ((instantiate)LOOK_UP(unit, "fmi2Instantiate"))("one", 1, given[2], "file:///none", &functions, 0, 0);
    if (!c) return 2;
    int failed = ((set_up)LOOK_UP(unit, "fmi2SetupExperiment"))(c, 0, 0.0, 0.0, 0, 0.0);
    failed |= ((change_mode)LOOK_UP(unit, "fmi2EnterInitializationMode"))(c);
    failed |= ((change_mode)LOOK_UP(unit, "fmi2ExitInitializationMode"))(c);
    for (int k = 0; k < 100; k++) failed |= ((step)LOOK_UP(unit, "fmi2DoStep"))(c, k * 0.01, 0.01, 1);
    for (int k = 3; k < count; k++) {
        const unsigned reference = (unsigned)atoi(given[k]);
        double value = 0.0;
        failed |= ((get_real)LOOK_UP(unit, "fmi2GetReal"))(c, &reference, 1, &value);
        printf("%.17g\n", value);
    }
    ((release)LOOK_UP(unit, "fmi2FreeInstance"))(c);
    return failed ? 3 : 0;
}
