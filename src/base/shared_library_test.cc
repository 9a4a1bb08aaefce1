#include "src/base/shared_library.h"

#include <gtest/gtest.h>

namespace vesta::base {
namespace {

TEST(SharedLibrary, TakesTheFirstNameThatThereIs) {
  const auto library = SharedLibrary::Open({"libno-such-thing.so.1", "libm.so.6"}, "x");
  ASSERT_TRUE(library.ok()) << library.error().message();
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->Find("cos", cosine));
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  const auto library =
      SharedLibrary::Open({"libno-such-thing.so.1"}, "this needs the package libno-such-thing1");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(library.error().message(), "this needs the package libno-such-thing1");
}

TEST(SharedLibrary, AFunctionThatIsNotThereIsNoPointer) {
  const auto library = SharedLibrary::Open({"libm.so.6"}, "x");
  ASSERT_TRUE(library.ok());
  double (*function)(double) = nullptr;
  EXPECT_FALSE(library->Find("no_such_function", function));
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace vesta::base
