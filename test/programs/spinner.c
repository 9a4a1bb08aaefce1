/*
 * A small chain of named functions that burns CPU: spinner [SECONDS]. One text, built many times:
 * forty times under names of their own (spin_00 .. spin_39, so that an agent must keep forty
 * images), static, static-PIE and against musl.
 */
#include "spin.h"

#ifndef SPINNER_TAG
#define SPINNER_TAG plain
#endif
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

/* A build id does not cover symbol names: this makes each copy an image of its own. */
__attribute__((used)) static const char spinner_tag[] = "spinner " TEXT(SPINNER_TAG);

NOINLINE void JOIN(spin_leaf, SPINNER_TAG)(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

NOINLINE void JOIN(spin_middle, SPINNER_TAG)(double end)
{
	JOIN(spin_leaf, SPINNER_TAG)(end);
	NO_TAIL_CALL();
}

NOINLINE void JOIN(spin_outer, SPINNER_TAG)(double end)
{
	JOIN(spin_middle, SPINNER_TAG)(end);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	JOIN(spin_outer, SPINNER_TAG)(now_seconds() + argument_seconds(argc, argv, 1, 1e9));
	return 0;
}
