// Goroutines with paths of their own, closures, methods behind interfaces, a deferred function that
// runs while a panic unwinds, and a stack that grows. Also built stripped.
package main

import (
	"runtime"
	"sync"
)

// The loop is written into each leaf, so that it runs in the leaf's own frame.
//
//go:noinline
func plainLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func plainStep(rounds uint32) uint32 { return plainLeaf(rounds) + 1 }

//go:noinline
func closureLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func callClosure(closure func(uint32) uint32, rounds uint32) uint32 { return closure(rounds) + 1 }

//go:noinline
func closureStep(rounds uint32) uint32 {
	extra := rounds & 7
	return callClosure(func(inner uint32) uint32 { return closureLeaf(inner) + extra }, rounds) + 1
}

type shape interface{ area(rounds uint32) uint32 }
type square struct{ extra uint32 }

//go:noinline
func methodLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func (s *square) area(rounds uint32) uint32 { return methodLeaf(rounds) + s.extra }

var shapes = []shape{&square{1}}

//go:noinline
func methodStep(rounds uint32) uint32 { return shapes[0].area(rounds) + 1 }

//go:noinline
func deferLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func deferred(rounds uint32) {
	plain := deferLeaf(rounds)
	if recover() == nil {
		panic(plain)
	}
}

//go:noinline
func panicking(rounds uint32) uint32 {
	defer deferred(rounds)
	panic("caught")
}

//go:noinline
func panicStep(rounds uint32) uint32 { return panicking(rounds) + 1 }

//go:noinline
func growLeaf(rounds uint32) uint32 {
	value := rounds
	for i := uint32(0); i < rounds; i++ {
		value = value*1664525 + i
	}
	return value
}

//go:noinline
func growStep(rounds uint32) uint32 {
	var room [20000]byte
	room[rounds%20000] = 1
	return growLeaf(rounds) + uint32(room[(rounds+1)%20000])
}

//go:noinline
func freshGoroutine(rounds uint32, cpuNs *int64, done *sync.WaitGroup) {
	runtime.LockOSThread()
	before := threadCPUNs()
	growStep(rounds)
	*cpuNs += threadCPUNs() - before
	runtime.UnlockOSThread()
	done.Done()
}

var mainPaths []path

//go:noinline
func startFresh(rounds uint32) uint32 {
	var done sync.WaitGroup
	done.Add(1)
	go freshGoroutine(rounds, &mainPaths[3].CPUNs, &done)
	done.Wait()
	return 1
}

//go:noinline
func secondWorker(paths []path, done *sync.WaitGroup) {
	spend(paths, seconds())
	done.Done()
}

func main() {
	mainPaths = []path{
		{[]string{"main.plainLeaf", "main.plainStep", "main.turn", "main.spend", "main.main"},
			plainStep, 40, 0, false},
		{[]string{"main.closureLeaf", "~main.closureStep.func1", "main.callClosure",
			"main.closureStep", "main.turn", "main.spend", "main.main"}, closureStep, 20, 0, false},
		{[]string{"main.deferLeaf", "main.deferred", "*", "main.panicking", "main.panicStep",
			"main.turn", "main.spend", "main.main"}, panicStep, 20, 0, false},
		{[]string{"main.growLeaf", "main.growStep", "main.freshGoroutine", "*"}, startFresh, 20, 0,
			true},
	}
	workerPaths := []path{
		{[]string{"main.methodLeaf", "main.(*square).area", "main.methodStep", "main.turn",
			"main.spend", "main.secondWorker", "*"}, methodStep, 100, 0, false},
	}
	var done sync.WaitGroup
	done.Add(1)
	go secondWorker(workerPaths, &done)
	spend(mainPaths, seconds())
	done.Wait()
	report(append(mainPaths, workerPaths...))
}
