/* The C interface of FMI 3.0 as its standard fixes it, in the words cffi reads. */
typedef void (*fmi3LogMessageCallback)(void *environment, int status, const char *category, const char *message);
typedef void (*fmi3IntermediateUpdateCallback)(void *environment, double time, bool setRequested, bool getAllowed,
                                               bool stepFinished, bool canReturnEarly, bool *earlyReturnRequested,
                                               double *earlyReturnTime);

const char *fmi3GetVersion(void);
int fmi3SetDebugLogging(void *c, bool loggingOn, size_t n, const char *const categories[]);
void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible,
                                   bool loggingOn, void *environment, fmi3LogMessageCallback log);
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                  bool loggingOn, bool eventModeUsed, bool earlyReturnAllowed,
                                  const uint32_t intermediate[], size_t n, void *environment,
                                  fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update);
typedef void (*fmi3ClockUpdateCallback)(void *environment);
typedef void (*fmi3PreemptionCallback)(void);
void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources, bool visible,
                                        bool loggingOn, void *environment, fmi3LogMessageCallback log,
                                        fmi3ClockUpdateCallback update, fmi3PreemptionCallback lock,
                                        fmi3PreemptionCallback unlock);
void fmi3FreeInstance(void *c);
int fmi3EnterInitializationMode(void *c, bool toleranceDefined, double tolerance, double start, bool stopDefined,
                                double stop);
int fmi3ExitInitializationMode(void *c);
int fmi3EnterEventMode(void *c);
int fmi3Terminate(void *c);
int fmi3Reset(void *c);
int fmi3GetFloat32(void *c, const uint32_t vr[], size_t n, float values[], size_t nv);
int fmi3GetFloat64(void *c, const uint32_t vr[], size_t n, double values[], size_t nv);
int fmi3GetInt8(void *c, const uint32_t vr[], size_t n, int8_t values[], size_t nv);
int fmi3GetUInt8(void *c, const uint32_t vr[], size_t n, uint8_t values[], size_t nv);
int fmi3GetInt16(void *c, const uint32_t vr[], size_t n, int16_t values[], size_t nv);
int fmi3GetUInt16(void *c, const uint32_t vr[], size_t n, uint16_t values[], size_t nv);
int fmi3GetInt32(void *c, const uint32_t vr[], size_t n, int32_t values[], size_t nv);
int fmi3GetUInt32(void *c, const uint32_t vr[], size_t n, uint32_t values[], size_t nv);
int fmi3GetInt64(void *c, const uint32_t vr[], size_t n, int64_t values[], size_t nv);
int fmi3GetUInt64(void *c, const uint32_t vr[], size_t n, uint64_t values[], size_t nv);
int fmi3GetBoolean(void *c, const uint32_t vr[], size_t n, bool values[], size_t nv);
int fmi3GetString(void *c, const uint32_t vr[], size_t n, const char *values[], size_t nv);
int fmi3GetBinary(void *c, const uint32_t vr[], size_t n, size_t sizes[], const uint8_t *values[], size_t nv);
int fmi3GetClock(void *c, const uint32_t vr[], size_t n, bool values[]);
int fmi3SetFloat32(void *c, const uint32_t vr[], size_t n, const float values[], size_t nv);
int fmi3SetFloat64(void *c, const uint32_t vr[], size_t n, const double values[], size_t nv);
int fmi3SetInt8(void *c, const uint32_t vr[], size_t n, const int8_t values[], size_t nv);
int fmi3SetUInt8(void *c, const uint32_t vr[], size_t n, const uint8_t values[], size_t nv);
int fmi3SetInt16(void *c, const uint32_t vr[], size_t n, const int16_t values[], size_t nv);
int fmi3SetUInt16(void *c, const uint32_t vr[], size_t n, const uint16_t values[], size_t nv);
int fmi3SetInt32(void *c, const uint32_t vr[], size_t n, const int32_t values[], size_t nv);
int fmi3SetUInt32(void *c, const uint32_t vr[], size_t n, const uint32_t values[], size_t nv);
int fmi3SetInt64(void *c, const uint32_t vr[], size_t n, const int64_t values[], size_t nv);
int fmi3SetUInt64(void *c, const uint32_t vr[], size_t n, const uint64_t values[], size_t nv);
int fmi3SetBoolean(void *c, const uint32_t vr[], size_t n, const bool values[], size_t nv);
int fmi3SetString(void *c, const uint32_t vr[], size_t n, const char *const values[], size_t nv);
int fmi3SetBinary(void *c, const uint32_t vr[], size_t n, const size_t sizes[], const uint8_t *const values[],
                  size_t nv);
int fmi3SetClock(void *c, const uint32_t vr[], size_t n, const bool values[]);
int fmi3GetFMUState(void *c, void **state);
int fmi3SetFMUState(void *c, void *state);
int fmi3FreeFMUState(void *c, void **state);
int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size);
int fmi3SerializeFMUState(void *c, void *state, uint8_t bytes[], size_t size);
int fmi3DeserializeFMUState(void *c, const uint8_t bytes[], size_t size, void **state);
int fmi3GetDirectionalDerivative(void *c, const uint32_t unknowns[], size_t nu, const uint32_t knowns[], size_t nk,
                                 const double seed[], size_t ns, double sensitivity[], size_t nsens);
int fmi3EnterConfigurationMode(void *c);
int fmi3ExitConfigurationMode(void *c);
int fmi3GetIntervalDecimal(void *c, const uint32_t vr[], size_t n, double intervals[], int qualifiers[]);
int fmi3GetShiftDecimal(void *c, const uint32_t vr[], size_t n, double shifts[]);
int fmi3SetIntervalDecimal(void *c, const uint32_t vr[], size_t n, const double intervals[]);
int fmi3ActivateModelPartition(void *c, uint32_t clock, double time);
int fmi3EvaluateDiscreteStates(void *c);
int fmi3UpdateDiscreteStates(void *c, bool *needed, bool *terminate, bool *nominalsChanged, bool *valuesChanged,
                             bool *nextDefined, double *nextTime);
int fmi3EnterContinuousTimeMode(void *c);
int fmi3CompletedIntegratorStep(void *c, bool noSetPrior, bool *enterEventMode, bool *terminate);
int fmi3SetTime(void *c, double time);
int fmi3SetContinuousStates(void *c, const double x[], size_t nx);
int fmi3GetContinuousStateDerivatives(void *c, double xd[], size_t nx);
int fmi3GetEventIndicators(void *c, double z[], size_t nz);
int fmi3GetContinuousStates(void *c, double x[], size_t nx);
int fmi3GetNominalsOfContinuousStates(void *c, double nominals[], size_t nx);
int fmi3GetNumberOfEventIndicators(void *c, size_t *nz);
int fmi3GetNumberOfContinuousStates(void *c, size_t *nx);
int fmi3EnterStepMode(void *c);
int fmi3GetOutputDerivatives(void *c, const uint32_t vr[], size_t n, const int32_t orders[], double values[],
                             size_t nv);
int fmi3DoStep(void *c, double time, double step, bool noSetPrior, bool *eventNeeded, bool *terminate,
               bool *earlyReturn, double *lastSuccessfulTime);
