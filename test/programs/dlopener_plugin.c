/* Loaded by dlopener. */
#include "spin.h"

NOINLINE void plugin_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

void plugin_entry(double end)
{
	plugin_spin(end);
	NO_TAIL_CALL();
}
