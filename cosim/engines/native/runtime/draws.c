/* Random draws by a counter-based generator: they depend on nothing but seed, substream and tick.

   Source: Salmon, Moraes, Dror & Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011 (Philox4x32-10);
   normal draws by Box & Muller, Annals of Mathematical Statistics 29 (1958) 610. */

#include "draws.h"

#include <math.h>

static void philox(const uint32_t counter[4], uint64_t key, uint32_t words[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* 53 random bits as a number in [0, 1). */
static double uniform(uint32_t low, uint32_t high)
{
    return ((double)(low >> 5) * 67108864.0 + (double)(high >> 6)) / 9007199254740992.0;
}

void pl_draw(pl_run *r, int i)
{
    const pl_system *s = r->system;
    const uint64_t seed = r->settings->seed, key = s->draw_stream[i] ^ seed;
    const int32_t counter_place = s->draw_counter[i];
    const uint64_t tick = counter_place < 0 ? (uint64_t)r->context->ticks[s->draw_rate[i]]
                                            : (uint64_t)r->context->h[counter_place] + 1;

    for (int j = s->draw_start[i]; j < s->draw_start[i + 1]; j++) {
        const uint32_t counter[4] = {(uint32_t)tick, (uint32_t)(tick >> 32), (uint32_t)(j - s->draw_start[i]),
                                     (uint32_t)seed};
        uint32_t words[4];
        philox(counter, key, words);
        const double first = uniform(words[0], words[1]), second = uniform(words[2], words[3]);
        r->context->h[s->draw_places[j]] =
            s->draw_normal[i] ? sqrt(-2.0 * log(1.0 - first)) * cos(2.0 * 3.141592653589793 * second) : first;
    }
}
