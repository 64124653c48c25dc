#include "jobs/stream/contract/key_fields.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::stream {
namespace {

KeyFields Fields(const std::string& options, const std::string& separator = "\t") {
  auto fields = KeyFields::Read(options, separator);
  EXPECT_TRUE(fields.ok()) << fields.status();
  return fields.ok() ? *fields : KeyFields();
}

std::string Order(const KeyFields& fields, const std::string& key) {
  std::string order;
  fields.AppendOrder(key, order);
  return order;
}

// Negative, 0 or positive, as the comparator finds it.
int Compared(const KeyFields& fields, const std::string& a, const std::string& b) {
  return Order(fields, a).compare(Order(fields, b));
}

// The hash by the words of the contract.
std::int64_t HashOf(const std::string& bytes) {
  std::int32_t hash = 0;
  for (const char c : bytes) {
    hash = static_cast<std::int32_t>(static_cast<std::uint32_t>(hash) * 31u +
                                     static_cast<std::uint32_t>(static_cast<signed char>(c)));
  }
  return hash & 0x7fffffff;
}

TEST(KeyFieldPartitioner, HashesTheNamedFields) {
  const KeyFields first = Fields("-k1,1", ".");
  EXPECT_EQ(first.PartitionOf("abc.def", 7), HashOf("abc") % 7);
  EXPECT_EQ(first.PartitionOf("abc.xyz", 7), first.PartitionOf("abc.def", 7));
  const KeyFields two = Fields("-k1,1 -k3", ".");
  EXPECT_EQ(two.PartitionOf("a.b.c.d", 11), HashOf("ac.d") % 11);
  EXPECT_EQ(Fields("-k1,2", ".").PartitionOf("a.b.c", 11), HashOf("a.b") % 11);
  EXPECT_EQ(Fields("-k2.2,2.3", ".").PartitionOf("a.wxyz", 13), HashOf("xy") % 13);
  EXPECT_EQ(KeyFields::First(2, ".").PartitionOf("a.b.c", 11), HashOf("a.b") % 11);
}

TEST(KeyFieldPartitioner, EmptyKeysGoToTheFirst) {
  EXPECT_EQ(Fields("-k1,1").PartitionOf("", 5), 0);
  EXPECT_EQ(Fields("-k3,3").PartitionOf("a\tb", 5), 0);  // no such field
  EXPECT_EQ(Fields("").PartitionOf("word", 5), HashOf("word") % 5);
}

TEST(KeyFieldPartitioner, BytesAreSigned) {
  EXPECT_EQ(Fields("-k1").PartitionOf("\xc3\xa4", 1000), HashOf("\xc3\xa4") % 1000);
}

TEST(KeyFieldComparator, NumbersInReverse) {
  const KeyFields fields = Fields("-k2,2nr");
  EXPECT_LT(Compared(fields, "a\t10", "b\t9"), 0);
  EXPECT_GT(Compared(fields, "a\t-10", "b\t-9"), 0);
  EXPECT_EQ(Compared(fields, "a\t7", "b\t007.0"), 0);
  EXPECT_LT(Compared(fields, "a\t1", "b"), 0);  // no second field: last in reverse
}

TEST(KeyFieldComparator, GlobalOptionsAreForSpecsWithoutTheirOwn) {
  EXPECT_LT(Compared(Fields("-n -k1,1"), "9", "10"), 0);
  EXPECT_GT(Compared(Fields("-k1,1"), "9", "10"), 0);
  EXPECT_GT(Compared(Fields("-nr"), "9", "10"), 0);
  EXPECT_GT(Compared(Fields("-r"), "a", "b"), 0);
  EXPECT_LT(Compared(Fields("-k 2n -k1,1r"), "b\t1", "a\t1"), 0);
}

TEST(KeyFieldComparator, ReadsWhatHadoopReads) {
  const KeyFields fields = Fields("-k1.2n,3.4r");
  ASSERT_EQ(fields.specs().size(), 1u);
  const KeySpec& spec = fields.specs()[0];
  EXPECT_EQ(spec.first_char, 2);
  EXPECT_EQ(spec.last_field, 3);
  EXPECT_EQ(spec.last_char, 4);
  EXPECT_TRUE(spec.numeric && spec.reverse);
}

TEST(KeyFieldComparator, NamesWhatIsNoSpecification) {
  for (const char* wrong : {"-k0", "-kx", "-k1,", "-k1.0", "-k1x", "-k", "-x", "1,2"}) {
    EXPECT_FALSE(KeyFields::Read(wrong, "\t").ok()) << wrong;
  }
}

RC_GTEST_PROP(KeyFieldProperty, NumbersCompareAsNumbers, (std::int32_t a, std::int32_t b)) {
  const KeyFields fields = Fields("-k1,1n");
  const auto text = [](std::int32_t number) {
    std::string digits = std::to_string(number / 4) + ".";
    if (number < 0 && number / 4 == 0) digits.insert(0, "-");
    return digits + std::vector<std::string>{"0", "25", "50",
                                             "75"}[static_cast<std::size_t>(std::abs(number % 4))];
  };
  const int compared = Compared(fields, text(a), text(b));
  RC_ASSERT((compared < 0) == (a < b));
  RC_ASSERT((compared > 0) == (a > b));
}

RC_GTEST_PROP(KeyFieldProperty, TextComparesAsItsBytes,
              (const std::string& a, const std::string& b)) {
  // Without any -k the whole key is compared; an empty one has no byte to begin with.
  const int compared = Compared(Fields("-k1"), a, b);
  RC_ASSERT((compared < 0) == (a < b));
  RC_ASSERT((compared > 0) == (a > b));
  const int reverse = Compared(Fields("-k1r"), a, b);
  RC_ASSERT((reverse < 0) == (a > b));
}

RC_GTEST_PROP(KeyFieldProperty, LaterFieldsDecideWhereEarlierOnesAreEqual, ()) {
  const auto field = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab")));
  const std::string a1 = *field, a2 = *field, b1 = *field, b2 = *field;
  RC_PRE(!a1.empty() && !a2.empty() && !b1.empty() && !b2.empty());
  const int compared = Compared(Fields("-k2,2r -k1,1"), a1 + "\t" + a2, b1 + "\t" + b2);
  const int expected = a2 != b2 ? b2.compare(a2) : a1.compare(b1);
  RC_ASSERT((compared < 0) == (expected < 0));
  RC_ASSERT((compared > 0) == (expected > 0));
}

RC_GTEST_PROP(KeyFieldProperty, PartitionsAreReducers, (const std::string& key)) {
  for (const int count : {1, 2, 7, 1000}) {
    const int partition = Fields("-k1,1").PartitionOf(key, count);
    RC_ASSERT(partition >= 0 && partition < count);
  }
}

}  // namespace
}  // namespace weir::stream
