/* Handlers on the normal stack and on an alternate one, that a timer starts at any instruction of
 * a leaf; and one that the program itself raises. */
#include <signal.h>
#include <sys/time.h>

#include "truth.h"

static struct truth_path paths[];
static volatile sig_atomic_t interruptible;
static timer_t timers[2];
static char alternate_stack[128 * 1024];
static volatile unsigned handler_random = 777;

enum {
	PATH_INTERRUPTED,
	PATH_NORMAL,
	PATH_ALTERNATE,
	PATH_RAISED,
	PATH_COUNT,
};

TRUTH_LEAF(normal_leaf)
TRUTH_STEP(normal_work, normal_leaf)
TRUTH_LEAF(alternate_leaf)
TRUTH_STEP(alternate_work, alternate_leaf)
TRUTH_LEAF(raised_leaf)
TRUTH_STEP(raised_work, raised_leaf)

TRUTH_INLINE void handle(struct truth_path *path, unsigned (*work)(unsigned))
{
	unsigned random = handler_random;
	int64_t before_ns;

	if (!interruptible)
		return;
	before_ns = truth_now_ns(CLOCK_THREAD_CPUTIME_ID);
	work(truth_rounds(&random));
	handler_random = random;
	path->cpu_ns += truth_now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

TRUTH_FRAME void on_normal(int signal_number)
{
	(void)signal_number;
	handle(&paths[PATH_NORMAL], normal_work);
}

TRUTH_FRAME void on_alternate(int signal_number)
{
	(void)signal_number;
	handle(&paths[PATH_ALTERNATE], alternate_work);
}

TRUTH_FRAME void on_raised(int signal_number)
{
	(void)signal_number;
	handle(&paths[PATH_RAISED], raised_work);
}

TRUTH_FRAME unsigned interrupted_leaf(unsigned rounds)
{
	unsigned value;

	interruptible = 1;
	value = truth_burn(rounds);
	interruptible = 0;
	return value;
}

static void arm(timer_t timer, long delay_ns)
{
	struct itimerspec once = {{0, 0}, {0, delay_ns}};

	timer_settime(timer, 0, &once, NULL);
}

TRUTH_FRAME unsigned interrupted_step(unsigned rounds)
{
	unsigned value;

	arm(timers[0], 20000 + rounds % 90001);
	arm(timers[1], 30000 + rounds % 70001);
	value = interrupted_leaf(rounds);
	TRUTH_KEEP(value);
	return value + 1;
}

TRUTH_FRAME unsigned raising_step(unsigned rounds)
{
	interruptible = 1;
	raise(SIGUSR2);
	interruptible = 0;
	return rounds;
}

static struct truth_path paths[PATH_COUNT] = {
	{"interrupted_leaf;interrupted_step;main", interrupted_step, 40, NULL, 0},
	{"normal_leaf;normal_work;on_normal;*;interrupted_leaf;interrupted_step;main", NULL, 20, NULL,
	 0},
	{"alternate_leaf;alternate_work;on_alternate;*;interrupted_leaf;interrupted_step;main", NULL,
	 20, NULL, 0},
	{"raised_leaf;raised_work;on_raised;*;raising_step;main", raising_step, 20, NULL, 0},
};

static void install(int signal_number, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART | flags;
	sigfillset(&action.sa_mask);
	sigaction(signal_number, &action, NULL);
}

int main(int argc, char **argv)
{
	int64_t end_ns =
		truth_now_ns(CLOCK_MONOTONIC) + (int64_t)(truth_seconds(argc, argv) * 1e9);
	stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
	unsigned random = 12345;

	sigaltstack(&stack, NULL);
	install(SIGALRM, on_normal, 0);
	install(SIGUSR1, on_alternate, SA_ONSTACK);
	install(SIGUSR2, on_raised, 0);
	event.sigev_signo = SIGALRM;
	timer_create(CLOCK_MONOTONIC, &event, &timers[0]);
	event.sigev_signo = SIGUSR1;
	timer_create(CLOCK_MONOTONIC, &event, &timers[1]);
	while (truth_now_ns(CLOCK_MONOTONIC) < end_ns) {
		struct truth_path *path = paths[PATH_RAISED].cpu_ns * 4 < paths[0].cpu_ns * 2
						  ? &paths[PATH_RAISED]
						  : &paths[PATH_INTERRUPTED];
		int64_t handlers_ns = -(paths[PATH_NORMAL].cpu_ns + paths[PATH_ALTERNATE].cpu_ns);
		int64_t own_ns = path->cpu_ns;

		if (path == &paths[PATH_RAISED]) {
			raising_step(truth_rounds(&random));
			continue;
		}
		truth_turn(path, truth_rounds(&random));
		handlers_ns += paths[PATH_NORMAL].cpu_ns + paths[PATH_ALTERNATE].cpu_ns;
		path->cpu_ns = own_ns + (path->cpu_ns - own_ns) - handlers_ns;
	}
	truth_print(argv[0], paths, PATH_COUNT);
	return 0;
}
