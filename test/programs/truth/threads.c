/* Two threads with paths of their own; the first thread only waits. */
#include <pthread.h>

#include "truth.h"

TRUTH_LEAF(first_hot_leaf)
TRUTH_STEP(first_hot, first_hot_leaf)
TRUTH_LEAF(first_cold_leaf)
TRUTH_STEP(first_cold, first_cold_leaf)
TRUTH_LEAF(second_hot_leaf)
TRUTH_STEP(second_hot, second_hot_leaf)
TRUTH_LEAF(second_cold_leaf)
TRUTH_STEP(second_cold, second_cold_leaf)

static struct truth_path paths[] = {
	{"first_hot_leaf;first_hot;first_thread", first_hot, 80, NULL, 0},
	{"first_cold_leaf;first_cold;first_thread", first_cold, 20, NULL, 0},
	{"second_hot_leaf;second_hot;second_thread", second_hot, 60, NULL, 0},
	{"second_cold_leaf;second_cold;second_thread", second_cold, 40, NULL, 0},
};

TRUTH_FRAME void *first_thread(void *seconds)
{
	truth_spend(&paths[0], 2, *(double *)seconds);
	return NULL;
}

TRUTH_FRAME void *second_thread(void *seconds)
{
	truth_spend(&paths[2], 2, *(double *)seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = truth_seconds(argc, argv);
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, first_thread, &seconds) != 0 ||
	    pthread_create(&threads[1], NULL, second_thread, &seconds) != 0)
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	truth_print(argv[0], paths, 4);
	return 0;
}
