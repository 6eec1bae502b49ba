/* Tables of a system: who ticks when, and where values go. All arrays belong to the host. */

#ifndef PL_TABLES_H
#define PL_TABLES_H

#include <stdint.h>

enum { PL_OUTPUT = 0, PL_UPDATE = 1, PL_EXTERNAL = 2, PL_SOLVE = 3, PL_REPEAT = 4, PL_EVENTS = 5 };

typedef struct {
    int64_t grid; /* ticks fall on multiples of 1/grid s */
    int32_t n_rates, n_segments, n_instants, n_lists, n_accepted, n_invariants, n_events;
    int32_t n_draws, n_starting, n_unknowns, n_delays, n_rounding, n_again, n_event_times, n_before;
    int32_t n_bodies;                                  /* whose states turn, see turning.py */
    int32_t n_loops;                                   /* segments of events that are in loops at one instant */
    int32_t n_controlled;                              /* the first states, whose errors choose the steps */
    const int64_t *first, *period;                     /* (n_rates,) on the grid */
    const int32_t *time_place, *count_place;         /* (n_rates,) in h */
    const int32_t *since_start, *since;                /* counts of samples of a rate: places in h */
    const int32_t *discrete_start, *discrete;          /* discrete states of a rate: places in h */
    const int32_t *segment_kind, *segment_rate;        /* (n_segments,); rate -1: at every instant */
    const int32_t *segment_again;                      /* (n_segments,) once more after the events of an instant? */
    const int32_t *segment_asked;                      /* (n_segments,) called only if this place in h is 1; -1: always */
    const int32_t *segment_limit;                      /* (n_segments,) calls at one instant, of one that is repeated */
    const int32_t *segment_early;                      /* (n_segments,) events that come before what they read? */
    const int32_t *loop_segment, *loop_place;          /* (n_loops,) those whose events are repeated in loops, and the
                                                          places in h that rise then */
    const int32_t *read_start, *read_from;             /* (n_loops + 1,) what they read there, (n_loops,) from where on
                                                          among the numbers that their functions return */
    const int32_t *follow_start, *follow;              /* (n_segments + 1,) events whose crossings one of events gives */
    const int32_t *segment_start, *segment_writes;     /* places in h (next) */
    const int32_t *segment_size;                       /* numbers its function returns */
    const double *instant_time;                        /* (n_instants,) s, in order */
    const int32_t *instant_list, *instant_place;       /* (n_instants,) whose it is; its place in h */
    const int32_t *event_time_event, *event_time_place; /* (n_event_times,) events, and places in h of their times */
    const int32_t *accepted;                           /* places in h */
    const double *nominal;                             /* (nx,) */
    const int32_t *bodies;                             /* (n_bodies, 14) places in x of their states, -1 for none; block */
    const double *tolerance;                           /* (n_invariants,) */
    const double *rounding;                            /* (nx,) times what a last digit changes is no error; of
                                                          n_rounding states it is not 0 */
    const int32_t *starting;                           /* (n_starting,) places in h */
    const int32_t *direction;                          /* (n_events,) of a crossing: -1, 1, or 0 for both */
    const double *threshold;                           /* (n_events,) |g| up to this counts as on it */
    const int32_t *rest;                               /* (n_events,) sign of a crossing at rest on zero */
    const int32_t *eager;                              /* (n_events,) does it fire where a run starts beyond it? */
    const int32_t *timed;                              /* (n_events,) is it due at a time in h? */
    const int32_t *timed_segment;                      /* (n_events,) in which it fires then, or with one that does; or -1 */
    const int32_t *ends;                               /* (n_events,) does it end the run? */
    const int32_t *anew_start, *anew;                  /* events for which nothing that its resets do is a crossing */
    const int32_t *reset_start, *reset_places;         /* what an event resets: places in h, or -1 - place in x */
    const int32_t *restarted_start, *restarted;        /* counts of samples in h that start anew after it */
    const int32_t *renewed_start, *renewed;            /* discrete states among them, whose next follows */
    const int32_t *order;                              /* (n_events,) those first on which crossings of others depend */
    const int32_t *loop;                               /* (n_events,) the cycle of events it is in, or its own number */
    const int32_t *before_start, *before;              /* (n_before,) outside of it, those a crossing depends on at once */
    const uint64_t *draw_stream;                       /* (n_draws,) substream */
    const int32_t *draw_rate, *draw_normal, *draw_start, *draw_places; /* random draws, and where they go */
    const int32_t *draw_counter;                       /* (n_draws,) place in h of how many so far, -1: the rate's ticks */
    const int32_t *delay_start, *delay_places;         /* (n_delays + 1,) places in w of delayed signals */
    const double *delay_initial;                       /* their values before there is a past */
    const double *delay_shortest, *delay_longest;      /* s, ends of the delays that change; 0 where one does not */
} pl_system;

#endif
