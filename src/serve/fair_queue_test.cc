#include "serve/fair_queue.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

TEST(FairQueue, ServesClientsInTurn) {
  FairQueue<int> queue;
  for (int i = 0; i < 4; ++i) queue.Push("a", i);
  queue.Push("b", 10);
  queue.Push("b", 11);
  queue.Push("c", 20);
  std::vector<int> order;
  while (!queue.empty()) {
    const int front = queue.Front();
    order.push_back(queue.Pop());
    EXPECT_EQ(order.back(), front);
  }
  EXPECT_EQ(order, (std::vector<int>{0, 10, 20, 1, 11, 2, 3}));
}

TEST(FairQueue, RemovesAnywhere) {
  FairQueue<int> queue;
  for (int i = 0; i < 6; ++i) queue.Push(i < 3 ? "a" : "b", i);
  queue.RemoveIf([](int i) { return i >= 3 || i == 1; });
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.Pop(), 0);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace ghost
