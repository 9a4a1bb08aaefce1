/*
 * Code that arrives late: dlopener SECONDS PLUGIN.so spins in its own code for a third of the time,
 * loads the plug-in and spins there for the rest.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "spin.h"

NOINLINE void before_dlopen_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

NOINLINE void call_plugin(void (*plugin_entry)(double), double end)
{
	plugin_entry(end);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	double seconds = argument_seconds(argc, argv, 1, 3);
	double start = now_seconds();
	void (*entry)(double);
	void *plugin;

	if (argc < 3) {
		fprintf(stderr, "usage: dlopener SECONDS PLUGIN.so\n");
		return 2;
	}
	before_dlopen_spin(start + seconds / 3);
	plugin = dlopen(argv[2], RTLD_NOW);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&entry = dlsym(plugin, "plugin_entry");
	if (!entry)
		return 1;
	call_plugin(entry, start + seconds);
	dlclose(plugin);
	return 0;
}
