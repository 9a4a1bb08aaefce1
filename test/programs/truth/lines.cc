// Lines that know their CPU: one hot function that spends it on lines of known shares, some of them
// inlined calls, until it has used the CPU for the seconds given. It prints one JSON line:
//
//   {"program": "lines_cxx_o2", "pid": 12, "function": "hot", "source": "lines.cc",
//    "lines": [{"at": ["spin", "spin_call"], "cpu_ns": 123}, ...]}
//
// A line of the source has the mark at its end: "// at MARK". "at" holds the marks of a stack's
// frames, the innermost first; lines of the mark "beside" only measure.
//
// Units:  cpu_ns is CLOCK_THREAD_CPUTIME_ID. A line of the tight loop gets the part that its number
//         of steps is of all: each step waits for the one before.
#include <unistd.h>

#include "truth.h"

// Multiplications and additions one after the other, all of them on the line that says so.
#define STEPS(value, count) \
  __asm__ volatile(".rept " #count "\n imul %0, %0\n lea 1(%0), %0\n .endr" : "+r"(value))

static int64_t tight_ns, spin_ns, nested_ns;

TRUTH_INLINE int64_t clock_ns() { return truth_now_ns(CLOCK_THREAD_CPUTIME_ID); }

TRUTH_INLINE unsigned long spin(unsigned long value, unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {  // at spin
    STEPS(value, 1);                       // at spin
  }
  return value;
}

TRUTH_INLINE unsigned long nested(unsigned long value, unsigned rounds) {
  return spin(value, rounds);  // at nested
}

TRUTH_FRAME unsigned long hot(unsigned rounds) {  // at beside
  unsigned long value = rounds;                   // at beside
  const int64_t start_ns = clock_ns();            // at beside
  for (unsigned i = 0; i < rounds; i++) {         // at beside
    STEPS(value, 40);                             // at forty
    STEPS(value, 30);                             // at thirty
    STEPS(value, 20);                             // at twenty
    STEPS(value, 10);                             // at ten
  }
  const int64_t tight_end_ns = clock_ns();   // at beside
  value = spin(value, rounds * 60);          // at spin_call
  const int64_t spin_end_ns = clock_ns();    // at beside
  value = nested(value, rounds * 40);        // at nested_call
  const int64_t nested_end_ns = clock_ns();  // at beside
  tight_ns += tight_end_ns - start_ns;       // at beside
  spin_ns += spin_end_ns - tight_end_ns;     // at beside
  nested_ns += nested_end_ns - spin_end_ns;  // at beside
  return value;                              // at beside
}  // at beside

static void print_line(const char* at, int64_t cpu_ns, const char* before = ", ") {
  printf("%s{\"at\": [%s], \"cpu_ns\": %lld}", before, at, static_cast<long long>(cpu_ns));
}

int main(int argc, char** argv) {
  const int64_t end_ns = static_cast<int64_t>(truth_seconds(argc, argv) * 1e9);
  unsigned random = 12345;
  unsigned long value = 0;
  while (clock_ns() < end_ns) {
    value += hot(truth_rounds(&random) / 200);
  }
  TRUTH_KEEP(value);
  const char* slash = strrchr(argv[0], '/');
  printf(
      "{\"program\": \"%s\", \"pid\": %d, \"function\": \"hot\", \"source\": \"lines.cc\", "
      "\"lines\": [",
      slash ? slash + 1 : argv[0], getpid());
  print_line("\"forty\"", tight_ns * 40 / 100, "");
  print_line("\"thirty\"", tight_ns * 30 / 100);
  print_line("\"twenty\"", tight_ns * 20 / 100);
  print_line("\"ten\"", tight_ns * 10 / 100);
  print_line("\"spin\", \"spin_call\"", spin_ns);
  print_line("\"spin\", \"nested\", \"nested_call\"", nested_ns);
  printf("]}\n");
  return 0;
}
