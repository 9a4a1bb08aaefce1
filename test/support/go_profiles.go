// Makes one profile of each kind with runtime/pprof: go_profiles CPU HEAP MUTEX [GOROUTINE]. Recursion, inlined
// functions and a contended lock are in them.
package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

//go:noinline
func slowValidate(keys []string) int {
	valid := 0
	for _, key := range keys {
		if regexp.MustCompile("^[a-z]+_[0-9]+$").MatchString(key) {
			valid++
		}
	}
	return valid
}

//go:noinline
func fastValidate(keys []string) int {
	valid := 0
	for _, key := range keys {
		if strings.IndexByte(key, '_') > 0 {
			valid++
		}
	}
	return valid
}

//go:noinline
func recurse(depth int, keys []string) int {
	if depth == 0 {
		return slowValidate(keys)
	}
	return recurse(depth-1, keys) + 1
}

func contend() {
	var lock sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 20; j++ {
				lock.Lock()
				time.Sleep(100 * time.Microsecond)
				lock.Unlock()
			}
		}()
	}
	group.Wait()
}

func create(path string) *os.File {
	file, err := os.Create(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return file
}

func main() {
	runtime.SetMutexProfileFraction(1)
	keys := make([]string, 5000)
	for i := range keys {
		keys[i] = fmt.Sprintf("tenant_%d", i)
	}
	cpu := create(os.Args[1])
	if err := pprof.StartCPUProfile(cpu); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sum := 0
	for i := 0; i < 12; i++ {
		sum += recurse(8, keys) + fastValidate(keys)
	}
	pprof.StopCPUProfile()
	cpu.Close()
	contend()
	for i, name := range []string{"heap", "mutex", "goroutine"} {
		if len(os.Args) <= 2+i {
			break
		}
		file := create(os.Args[2+i])
		pprof.Lookup(name).WriteTo(file, 0)
		file.Close()
	}
	fmt.Println(sum)
}
