/* X(nnn) for 000 to 999. */
#define LAZY_1(X, a, b) \
  X(a##b##0) X(a##b##1) X(a##b##2) X(a##b##3) X(a##b##4) \
  X(a##b##5) X(a##b##6) X(a##b##7) X(a##b##8) X(a##b##9)
#define LAZY_2(X, a) \
  LAZY_1(X, a, 0) LAZY_1(X, a, 1) LAZY_1(X, a, 2) LAZY_1(X, a, 3) LAZY_1(X, a, 4) \
  LAZY_1(X, a, 5) LAZY_1(X, a, 6) LAZY_1(X, a, 7) LAZY_1(X, a, 8) LAZY_1(X, a, 9)
#define LAZY_TARGETS(X) \
  LAZY_2(X, 0) LAZY_2(X, 1) LAZY_2(X, 2) LAZY_2(X, 3) LAZY_2(X, 4) \
  LAZY_2(X, 5) LAZY_2(X, 6) LAZY_2(X, 7) LAZY_2(X, 8) LAZY_2(X, 9)
