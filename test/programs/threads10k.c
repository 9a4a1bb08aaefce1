/*
 * Many threads, mostly asleep: threads10k [THREADS] [SECONDS]. Every 64th thread wakes now and then
 * and works a little; more than ten thousand wake 25,000 times a second, all together. Says how
 * many threads ran and ended.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

enum { STACK_BYTES = 32 * 1024 };

static double end_seconds;
static int ended;
static useconds_t sleep_us = 100000;

NOINLINE void thread_work(void)
{
	burn();
	NO_TAIL_CALL();
}

static void *thread_main(void *argument)
{
	long number = (long)argument;

	while (now_seconds() < end_seconds) {
		usleep(sleep_us);
		if (number % 64 == 0)
			thread_work();
	}
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 10000;
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attributes;
	char *stacks;
	long started = 0;

	if (count > 10000)
		sleep_us = (useconds_t)(count * 40);
	end_seconds = now_seconds() + argument_seconds(argc, argv, 2, 5);
	pthread_attr_init(&attributes);
	/* Stacks side by side in one mapping: a process may have 65,530 mappings only. */
	stacks = mmap(NULL, (size_t)count * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	while (stacks != MAP_FAILED && started < count) {
		pthread_attr_setstack(&attributes, stacks + started * STACK_BYTES, STACK_BYTES);
		if (pthread_create(&threads[started], &attributes, thread_main, (void *)started) != 0)
			break;
		started++;
	}
	for (long i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %d\n", started, ended);
	free(threads);
	return started == count && ended == count ? 0 : 1;
}
