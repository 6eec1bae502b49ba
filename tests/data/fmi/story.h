/* What stubs note of their calls, one behind the other. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char story[8000];

const char *told(void) { return story; }
static void note(const char *format, ...)
{
    va_list values;
    const size_t n = strlen(story);
    va_start(values, format);
    vsnprintf(story + n, sizeof story - n, format, values);
    va_end(values);
}
