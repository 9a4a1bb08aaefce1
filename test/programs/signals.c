/*
 * Stacks through signal frames: signals [SECONDS]. SIGPROF (every 2 ms of CPU) works on the
 * interrupted stack, SIGALRM (every 3 ms) on an alternate one; each handler burns about 0.5 ms.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "spin.h"

static volatile sig_atomic_t prof_signals, alarm_signals;
static char alternate_stack[256 * 1024];

NOINLINE void prof_handler_work(void)
{
	burn();
	burn();
	NO_TAIL_CALL();
}

NOINLINE void alarm_handler_work(void)
{
	burn();
	burn();
	NO_TAIL_CALL();
}

NOINLINE void on_prof(int signal_number)
{
	(void)signal_number;
	prof_signals++;
	prof_handler_work();
	NO_TAIL_CALL();
}

NOINLINE void on_alarm(int signal_number)
{
	(void)signal_number;
	alarm_signals++;
	alarm_handler_work();
	NO_TAIL_CALL();
}

NOINLINE void interrupted_spin(double end)
{
	BURN_UNTIL(end);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	double end = now_seconds() + argument_seconds(argc, argv, 1, 3);
	struct itimerval every_2ms = {{0, 2000}, {0, 2000}}, every_3ms = {{0, 3000}, {0, 3000}};
	struct itimerval never = {{0, 0}, {0, 0}};
	stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
	struct sigaction action;

	sigaltstack(&stack, NULL);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_prof;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_PROF, &every_2ms, NULL);
	setitimer(ITIMER_REAL, &every_3ms, NULL);
	interrupted_spin(end);
	setitimer(ITIMER_PROF, &never, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d\n", (int)prof_signals, (int)alarm_signals);
	return prof_signals > 0 && alarm_signals > 0 ? 0 : 1;
}
