/* The callee of plt_loop. */
unsigned plt_target(unsigned value);

unsigned plt_target(unsigned value)
{
	return value * 2654435761u + 1;
}
