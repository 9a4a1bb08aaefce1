// Lines that know their CPU, Go part: see lines.cc. Each step is a multiplication and an addition
// that wait for the ones before.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
)

var tightNs, spinNs, nestedNs int64

func spin(x, m, rounds uint64) uint64 {
	for i := uint64(0); i < rounds; i++ { // at spin
		x = x*m + i // at spin
	}
	return x // at spin
}

func nested(x, m, rounds uint64) uint64 {
	return spin(x, m, rounds) // at nested
}

//go:noinline
func hot(x, m, c, rounds uint64) uint64 { // at beside
	start := threadCPUNs()                  // at beside
	for i := uint64(0); i < rounds*5; i++ { // at beside
		x = (((((((x*m+c)*m+c)*m+c)*m+c)*m+c)*m+c)*m+c)*m + c // at eight
		x = (((((x*m+c)*m+c)*m+c)*m+c)*m+c)*m + c             // at six
		x = (((x*m+c)*m+c)*m+c)*m + c                         // at four
		x = (x*m+c)*m + c                                     // at two
	}
	tightEnd := threadCPUNs()       // at beside
	x = spin(x, m, rounds*60)       // at spin_call
	spinEnd := threadCPUNs()        // at beside
	x = nested(x, m, rounds*40)     // at nested_call
	nestedEnd := threadCPUNs()      // at beside
	tightNs += tightEnd - start     // at beside
	spinNs += spinEnd - tightEnd    // at beside
	nestedNs += nestedEnd - spinEnd // at beside
	return x                        // at beside
}

type line struct {
	At    []string `json:"at"`
	CPUNs int64    `json:"cpu_ns"`
}

func main() {
	runtime.LockOSThread()
	endNs := int64(seconds() * 1e9)
	random, x := uint32(12345), uint64(1)
	for threadCPUNs() < endNs {
		random = random*1103515245 + 12345
		x = hot(x, 1664525, 1013904223, uint64(100000+(random>>10)%1900000)/200)
	}
	text, err := json.Marshal(map[string]any{
		"program": filepath.Base(os.Args[0]), "pid": os.Getpid(), "function": "main.hot",
		"source": "lines.go", "value": x, "lines": []line{
			{[]string{"eight"}, tightNs * 8 / 20}, {[]string{"six"}, tightNs * 6 / 20},
			{[]string{"four"}, tightNs * 4 / 20}, {[]string{"two"}, tightNs * 2 / 20},
			{[]string{"spin", "spin_call"}, spinNs},
			{[]string{"spin", "nested", "nested_call"}, nestedNs}}})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(text, '\n'))
}
