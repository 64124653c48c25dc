#include "runtime/artifacts/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace weir {
namespace {

std::string HashOf(const std::string& bytes) {
  Sha256Stream hash;
  hash.Update(bytes);
  return hash.Finish();
}

TEST(Sha256Test, SaysWhatTheStandardSays) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

RC_GTEST_PROP(Sha256Test, CutsMakeNoDifference, (const std::string& bytes)) {
  Sha256Stream hash;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto size = 1 + *rc::gen::inRange<std::size_t>(0, bytes.size() - at);
    hash.Update(std::string_view(bytes).substr(at, size));
    at += size;
  }
  RC_ASSERT(hash.Finish() == HashOf(bytes));
}

TEST(Sha256Test, KnowsAHashWhenItSeesOne) {
  const std::string hash = HashOf("abc");
  EXPECT_TRUE(IsSha256(hash));
  EXPECT_FALSE(IsSha256(""));
  EXPECT_FALSE(IsSha256(hash.substr(1)));
  EXPECT_FALSE(IsSha256(hash + "0"));
  EXPECT_FALSE(IsSha256("B" + hash.substr(1))) << "one content has one name";
  EXPECT_FALSE(IsSha256("/" + hash.substr(1)));
}

}  // namespace
}  // namespace weir
