// Programs that know their own answer, Go part: see truth.h for what is printed and how the CPU is
// spent. Each program is built of this file and its own.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

type path struct {
	Frames      []string            `json:"frames"`
	Enter       func(uint32) uint32 `json:"-"`
	GoalPercent int64               `json:"goal_percent"`
	CPUNs       int64               `json:"cpu_ns"`
	selfCounted bool                // Enter adds to CPUNs itself
}

const clockThreadCPU = 3

func threadCPUNs() int64 {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU,
		uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func seconds() float64 {
	if len(os.Args) > 1 {
		if value, err := strconv.ParseFloat(os.Args[1], 64); err == nil {
			return value
		}
	}
	return 3
}

//go:noinline
func turn(next *path, rounds uint32) {
	if next.selfCounted {
		next.Enter(rounds)
		return
	}
	before := threadCPUNs()
	next.Enter(rounds)
	next.CPUNs += threadCPUNs() - before
}

// spend runs on one thread, so that the thread's CPU is the goroutine's.
//
//go:noinline
func spend(paths []path, seconds float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	random := uint32(12345)
	for time.Now().Before(end) {
		random = random*1103515245 + 12345
		next := &paths[0]
		for i := range paths {
			if paths[i].CPUNs*next.GoalPercent < next.CPUNs*paths[i].GoalPercent {
				next = &paths[i]
			}
		}
		turn(next, 100000+(random>>10)%1900000)
	}
}

func report(paths []path) {
	text, err := json.Marshal(map[string]any{
		"program": filepath.Base(os.Args[0]), "paths": paths})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(text, '\n'))
}
