#include "base/python_random.h"

#include <gtest/gtest.h>

#include <vector>

namespace ghost {
namespace {

TEST(PythonRandom, DrawsWhatPythonDraws) {
  PythonRandom raw(42);
  for (const uint32_t word : {2746317213u, 478163327u, 107420369u, 3184935163u})
    EXPECT_EQ(raw.Bits32(), word);
  PythonRandom forty_two(42);
  for (const int64_t n : {1340975, 233478, 52451, 1555144, 576778, 513575, 468106, 292632}) {
    EXPECT_EQ(forty_two.RandInt(0, 2000000), n);
  }
  PythonRandom zero(0);
  for (const int64_t n : {1770880, 807917, 1589545, 1866976}) EXPECT_EQ(zero.RandInt(0, 2000000), n);
}

TEST(PythonRandom, RangesAreInclusive) {
  PythonRandom random(7);
  EXPECT_EQ(random.RandInt(5, 5), 5);
  bool low = false, high = false;
  for (int i = 0; i < 200; ++i) {
    const int64_t n = random.RandInt(-1, 1);
    ASSERT_GE(n, -1);
    ASSERT_LE(n, 1);
    low |= n == -1;
    high |= n == 1;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace ghost
