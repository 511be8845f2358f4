// Tests that run once for every row of the table of methods.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "prune/method.h"

namespace ghost {

inline auto EveryMethod() { return testing::ValuesIn(Methods().begin(), Methods().end()); }

// A method's name as gtest takes it.
inline std::string MethodTestName(const testing::TestParamInfo<Method>& test) {
  std::string name(test.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace ghost
