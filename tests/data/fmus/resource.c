/* y is the code of the first character of the file y.txt in its resources. */
#include "unit.h"

void model_calculate(Unit *u) { (void)u; }

void model_start(Unit *u)
{
    char path[PATH_ROOM + 16];
    snprintf(path, sizeof path, "%s/y.txt", u->resources);
    FILE *file = fopen(path, "r");
    if (!file) {
        say(u, ERROR, "logStatusError", "cannot open %s", path);
        u->mode = -1; /* initialisation fails */
        return;
    }
    N(y) = fgetc(file);
    fclose(file);
}

void model_event(Unit *u) { (void)u; }
double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
