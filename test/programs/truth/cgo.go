// cgo both ways: Go calls C, C calls Go back, and Go calls C again from there; the leaf is in C and
// in Go.
package main

// unsigned c_leaf_step(unsigned rounds);
// unsigned c_to_go(unsigned rounds);
// unsigned c_to_go_to_c(unsigned rounds);
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

//go:noinline
func intoC(rounds uint32) uint32 { return uint32(C.c_leaf_step(C.uint(rounds))) + 1 }

//go:noinline
func callbackLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//export goCallback
func goCallback(rounds C.uint) C.uint { return C.uint(callbackLeaf(uint32(rounds)) + 1) }

//go:noinline
func throughC(rounds uint32) uint32 { return uint32(C.c_to_go(C.uint(rounds))) + 1 }

//export goCallbackToC
func goCallbackToC(rounds C.uint) C.uint { return C.c_leaf_step(rounds) + 1 }

//go:noinline
func throughCTwice(rounds uint32) uint32 { return uint32(C.c_to_go_to_c(C.uint(rounds))) + 1 }

func main() {
	paths := []path{
		{[]string{"main.goLeaf", "main.goStep", "main.turn", "main.spend", "main.main"}, goStep, 20,
			0, false},
		{[]string{"c_leaf", "c_leaf_step", "*", "main.intoC", "main.turn", "main.spend",
			"main.main"}, intoC, 30, 0, false},
		{[]string{"main.callbackLeaf", "main.goCallback", "*", "c_to_go", "*", "main.throughC",
			"main.turn", "main.spend", "main.main"}, throughC, 30, 0, false},
		{[]string{"c_leaf", "c_leaf_step", "*", "main.goCallbackToC", "*", "c_to_go_to_c", "*",
			"main.throughCTwice", "main.turn", "main.spend", "main.main"}, throughCTwice, 20, 0,
			false},
	}
	spend(paths, seconds())
	report(paths)
}
