/* What the stubs of kernel.c lead to. */
unsigned plt_target(unsigned value);
unsigned plt_target_two(unsigned value);

unsigned plt_target(unsigned value)
{
	return value * 3 + 1;
}

unsigned plt_target_two(unsigned value)
{
	return value ^ (value >> 3);
}
