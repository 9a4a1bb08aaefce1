// Go as a library of a C program: the stack's root is C's main, and Go runs on a stack of its own.
package main

import "C"

//go:noinline
func goLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func goStep(rounds uint32) uint32 { return goLeaf(rounds) + 1 }

//export go_entry
func go_entry(rounds C.uint) C.uint { return C.uint(goStep(uint32(rounds)) + 1) }

func main() {}
