/* For user subroutines compiled into a shared library: include this in ONE source file of the library.
 *
 * It defines c_sysfnc, c_sysary and c_errmes with the calling conventions of MotionSolve's C utilities and
 * lets plantloop connect them when the library is loaded.
 *
 *   #include "usersub.h"
 *   void VARSUB(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, double *value) {
 *       int icm = (int)par[0], error;
 *       double vm;
 *       c_sysfnc("VM", &icm, 1, &vm, &error);
 *       *value = 0.5 * par[1] * vm * vm;
 *   }
 *
 * Build: cc -shared -fPIC -o libke.so ke.c
 */
#ifndef PLANTLOOP_USERSUB_H
#define PLANTLOOP_USERSUB_H
#include <stdio.h>

typedef void (*plantloop_sysfnc)(const char *name, const int *ipar, int n, double *state, int *error);
typedef void (*plantloop_sysary)(const char *name, const int *ipar, int n, double *states, int *count, int *error);

static plantloop_sysfnc plantloop_sysfnc_;
static plantloop_sysary plantloop_sysary_;

#ifdef _WIN32
__declspec(dllexport)
#endif
void plantloop_access(plantloop_sysfnc sysfnc, plantloop_sysary sysary) {
    plantloop_sysfnc_ = sysfnc;
    plantloop_sysary_ = sysary;
}

static void c_sysfnc(const char *name, const int *ipar, int n, double *state, int *error) {
    plantloop_sysfnc_(name, ipar, n, state, error);
}

static void c_sysary(const char *name, const int *ipar, int n, double *states, int *count, int *error) {
    plantloop_sysary_(name, ipar, n, states, count, error);
}

static void c_errmes(int error, const char *message, int id, const char *action) {
    (void)action;
    if (error) fprintf(stderr, "user subroutine, element %d: %s\n", id, message);
}

/* not every library uses all of them */
static void (*const plantloop_used_[])(void) = {(void (*)(void))c_sysfnc, (void (*)(void))c_sysary,
                                                (void (*)(void))c_errmes};
const void *plantloop_keep_(void) { return plantloop_used_; }
#endif
