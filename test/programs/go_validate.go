// Go workload: go_validate [CPU_PROFILE] [ROUNDS]. 200,000 keys are checked twenty times by a
// regular expression (slow) and by a scan for the separator (fast); it profiles itself with
// runtime/pprof.
package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
)

const keyCount = 200_000

var keyPattern = regexp.MustCompile(`^[a-z]+_[0-9]+$`)

//go:noinline
func slowValidate(keys []string) int {
	valid := 0
	for _, key := range keys {
		if keyPattern.MatchString(key) {
			valid++
		}
	}
	return valid
}

//go:noinline
func fastValidate(keys []string) int {
	valid := 0
	for _, key := range keys {
		if at := strings.IndexByte(key, '_'); at > 0 && at+1 < len(key) {
			valid++
		}
	}
	return valid
}

func main() {
	rounds := 20
	if len(os.Args) > 2 {
		rounds, _ = strconv.Atoi(os.Args[2])
	}
	keys := make([]string, keyCount)
	for i := range keys {
		keys[i] = fmt.Sprintf("tenant_%d", i)
	}
	if len(os.Args) > 1 {
		file, err := os.Create(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	slow, fast := 0, 0
	for i := 0; i < rounds; i++ {
		slow += slowValidate(keys)
		fast += fastValidate(keys)
	}
	fmt.Println(slow, fast)
}
