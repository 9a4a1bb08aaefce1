// C++20 coroutines: what runs is the coroutine's body on the stack of whoever resumed it.
#include <coroutine>
#include <exception>
#include <utility>

#include "truth.h"

class Task {
 public:
  struct promise_type {
    unsigned rounds = 0;
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }
  void Resume(unsigned rounds) {
    handle_.promise().rounds = rounds;
    handle_.resume();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// Inside a coroutine: how much to do now.
struct Rounds {
  unsigned rounds = 0;
  bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<Task::promise_type> handle) noexcept {
    rounds = handle.promise().rounds;
    return false;
  }
  unsigned await_resume() noexcept { return rounds; }
};

TRUTH_LEAF(hot_leaf)
TRUTH_LEAF(nested_leaf)
TRUTH_LEAF(plain_leaf)
TRUTH_STEP(plain_step, plain_leaf)

Task hot_coroutine() {
  for (;;) {
    unsigned value = hot_leaf(co_await Rounds{});
    TRUTH_KEEP(value);
    co_await std::suspend_always{};
  }
}

Task inner_coroutine() {
  for (;;) {
    unsigned value = nested_leaf(co_await Rounds{});
    TRUTH_KEEP(value);
    co_await std::suspend_always{};
  }
}

TRUTH_FRAME void resume_inner(Task& inner, unsigned rounds) {
  inner.Resume(rounds);
  unsigned value = rounds;
  TRUTH_KEEP(value);
}

Task outer_coroutine() {
  Task inner = inner_coroutine();
  for (;;) {
    resume_inner(inner, co_await Rounds{});
    co_await std::suspend_always{};
  }
}

TRUTH_FRAME unsigned resume_hot(unsigned rounds) {
  static Task task = hot_coroutine();
  task.Resume(rounds);
  TRUTH_KEEP(rounds);
  return rounds;
}

TRUTH_FRAME unsigned resume_outer(unsigned rounds) {
  static Task task = outer_coroutine();
  task.Resume(rounds);
  TRUTH_KEEP(rounds);
  return rounds;
}

static truth_path paths[] = {
    {"hot_leaf;~hot_coroutine;resume_hot;main", resume_hot, 50, nullptr, 0},
    {"nested_leaf;~inner_coroutine;resume_inner;~outer_coroutine;resume_outer;main", resume_outer,
     30, nullptr, 0},
    {"plain_leaf;plain_step;main", plain_step, 20, nullptr, 0},
};

TRUTH_MAIN(paths)
