/* Spends its time below lazy binding: a library whose 1,000 calls are all bound anew is opened, run
 * and closed again and again. Usage: lazy_binder SECONDS LIBRARY */
#include <dlfcn.h>
#include <stdio.h>

#include "../spin.h"

/* From liblazy_targets, which stays. */
extern int lazy_target_000(void);

static NOINLINE void bind_once(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "lazy_binder: %s\n", dlerror());
    return;
  }
  int (*run)(void) = (int (*)(void))dlsym(library, "lazy_run");
  if (run) run();
  dlclose(library);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  double seconds = argument_seconds(argc, argv, 1, 2);
  double end = now_seconds() + seconds;
  while (now_seconds() < end) bind_once(argv[2]);
  return lazy_target_000() != 1;
}
