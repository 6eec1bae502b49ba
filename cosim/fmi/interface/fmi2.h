/* The C interface of FMI 2.0 as its standard fixes it, in the words cffi reads. */
typedef void (*fmi2CallbackLogger)(void *environment, const char *instance_name, int status, const char *category,
                                   const char *message);
typedef struct {
    void *logger;
    void *(*allocateMemory)(size_t nobj, size_t size);
    void (*freeMemory)(void *obj);
    void *stepFinished;
    void *componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    int newDiscreteStatesNeeded;
    int terminateSimulation;
    int nominalsOfContinuousStatesChanged;
    int valuesOfContinuousStatesChanged;
    int nextEventTimeDefined;
    double nextEventTime;
} fmi2EventInfo;

const char *fmi2GetTypesPlatform(void);
const char *fmi2GetVersion(void);
int fmi2SetDebugLogging(void *c, int loggingOn, size_t n, const char *const categories[]);
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources,
                      const fmi2CallbackFunctions *functions, int visible, int loggingOn);
void fmi2FreeInstance(void *c);
int fmi2SetupExperiment(void *c, int toleranceDefined, double tolerance, double start, int stopDefined, double stop);
int fmi2EnterInitializationMode(void *c);
int fmi2ExitInitializationMode(void *c);
int fmi2Terminate(void *c);
int fmi2Reset(void *c);
int fmi2GetReal(void *c, const uint32_t vr[], size_t n, double values[]);
int fmi2GetInteger(void *c, const uint32_t vr[], size_t n, int values[]);
int fmi2GetBoolean(void *c, const uint32_t vr[], size_t n, int values[]);
int fmi2GetString(void *c, const uint32_t vr[], size_t n, const char *values[]);
int fmi2SetReal(void *c, const uint32_t vr[], size_t n, const double values[]);
int fmi2SetInteger(void *c, const uint32_t vr[], size_t n, const int values[]);
int fmi2SetBoolean(void *c, const uint32_t vr[], size_t n, const int values[]);
int fmi2SetString(void *c, const uint32_t vr[], size_t n, const char *const values[]);
int fmi2GetFMUstate(void *c, void **state);
int fmi2SetFMUstate(void *c, void *state);
int fmi2FreeFMUstate(void *c, void **state);
int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size);
int fmi2SerializeFMUstate(void *c, void *state, char bytes[], size_t size);
int fmi2DeSerializeFMUstate(void *c, const char bytes[], size_t size, void **state);
int fmi2GetDirectionalDerivative(void *c, const uint32_t unknowns[], size_t nu, const uint32_t knowns[],
                                 size_t nk, const double seed[], double sensitivity[]);
int fmi2EnterEventMode(void *c);
int fmi2NewDiscreteStates(void *c, fmi2EventInfo *info);
int fmi2EnterContinuousTimeMode(void *c);
int fmi2CompletedIntegratorStep(void *c, int noSetPrior, int *enterEventMode, int *terminate);
int fmi2SetTime(void *c, double time);
int fmi2SetContinuousStates(void *c, const double x[], size_t nx);
int fmi2GetDerivatives(void *c, double xd[], size_t nx);
int fmi2GetEventIndicators(void *c, double z[], size_t nz);
int fmi2GetContinuousStates(void *c, double x[], size_t nx);
int fmi2GetNominalsOfContinuousStates(void *c, double nominals[], size_t nx);
int fmi2SetRealInputDerivatives(void *c, const uint32_t vr[], size_t n, const int order[], const double value[]);
int fmi2GetRealOutputDerivatives(void *c, const uint32_t vr[], size_t n, const int order[], double value[]);
int fmi2DoStep(void *c, double time, double step, int noSetPrior);
int fmi2CancelStep(void *c);
int fmi2GetStatus(void *c, int kind, int *value);
int fmi2GetRealStatus(void *c, int kind, double *value);
int fmi2GetIntegerStatus(void *c, int kind, int *value);
int fmi2GetBooleanStatus(void *c, int kind, int *value);
int fmi2GetStringStatus(void *c, int kind, const char **value);
