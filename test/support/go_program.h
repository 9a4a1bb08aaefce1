// A small Go program, built by the Go toolchains of this machine, for tests that read what Go's
// linker writes.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace vesta::test {

// Standard output of a shell command; empty when it fails.
inline std::string CommandOutput(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 65536> part;
  for (size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), size);
  }
  return ::pclose(pipe) == 0 ? output : std::string();
}

// Folder that is gone with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vesta_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The newest and, where it is installed, an old toolchain: the table's layout changed in between.
inline std::vector<std::string> GoToolchains() {
  std::vector<std::string> found;
  for (const char* path : {"/usr/local/go/bin/go", "/usr/lib/go-1.19/bin/go", "/usr/bin/go"}) {
    if (::access(path, X_OK) == 0) found.push_back(path);
  }
  return found;
}

inline constexpr char kGoProgram[] = R"go(package main

import (
	"fmt"
	"os"
	"regexp"
)

type tenant struct{ count int }

//go:noinline
func (t *tenant) slowValidate(s string) bool {
	return regexp.MustCompile("^[a-z]+_[0-9]+$").MatchString(s)
}

//go:noinline
func leaf(a int) int { return a*3 + 1 }

//go:noinline
func bigFrame(a int) int {
	var buffer [20000]byte
	for i := range buffer {
		buffer[i] = byte(a + i)
	}
	return int(buffer[a&1023]) + leaf(a)
}

func main() {
	t := &tenant{count: len(os.Args)}
	defer func() { fmt.Println(t.count) }()
	fmt.Println(t.slowValidate("tenant_1"), leaf(t.count), bigFrame(t.count))
}
)go";

// Functions inlined into one another, and what the runtime says about them, one frame a line:
// address as its distance from main.main, function, file, line.
//   stack   the stack below the innermost function
//   frames  the frames of each address that is read (as a distance), each followed by an empty
//   line;
//           needs Go 1.21
inline constexpr char kGoInlineProgram[] = R"go(package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

func base() uintptr { return reflect.ValueOf(main).Pointer() }

func printFrames(pcs []uintptr) {
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		fmt.Printf("%d\t%s\t%s\t%d\n", int64(frame.PC-base()), frame.Function, frame.File, frame.Line)
		if !more {
			return
		}
	}
}

//go:noinline
func record() {
	pcs := make([]uintptr, 64)
	printFrames(pcs[:runtime.Callers(1, pcs)])
}

func innermost(a int) int {
	record()
	return a + 1
}

func middle(a int) int {
	return 2 *
		innermost(a)
}

func larger[T int | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}

type tenant struct{ key string }

func (t *tenant) slowValidate(separator byte) bool {
	at := strings.IndexByte(t.key, separator)
	return at > 0 && larger(at, 3) < len(t.key)
}

//go:noinline
func validateAll(tenants []tenant) int {
	valid := 0
	for i := range tenants {
		if tenants[i].slowValidate('_') {
			valid += len(larger(tenants[i].key, "m"))
		}
	}
	return valid
}

func main() {
	if validateAll([]tenant{{"tenant_1"}, {"x"}}) != 8 {
		panic("wrong")
	}
	if os.Args[1] == "stack" {
		os.Exit(middle(
			len(os.Args)) - 6)
	}
	// Only in front of another one is an address expanded to all its frames.
	end := reflect.ValueOf(record).Pointer()
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		distance, _ := strconv.ParseInt(questions.Text(), 10, 64)
		printFrames([]uintptr{base() + uintptr(distance) + 1, end + 1})
		fmt.Println()
	}
}
)go";

// Builds a program with the given flags of `go build`; empty path when that fails. All of one
// folder are of the same source.
inline std::string BuildGoProgram(const std::string& go, const TemporaryFolder& folder,
                                  const std::string& name, const std::string& flags,
                                  const char* program = kGoProgram) {
  const std::string source = folder.path() + "/main.go";
  if (!std::filesystem::exists(source)) {
    std::ofstream(source) << program;
    std::ofstream(folder.path() + "/go.mod") << "module example.com/sample\n\ngo 1.18\n";
  }
  const std::string path = folder.path() + "/" + name;
  CommandOutput("cd " + folder.path() + " && GOTOOLCHAIN=local GOFLAGS= GO111MODULE=on " + go +
                " build " + flags + " -o " + path + " . 2>&1");
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace vesta::test
