#include "base/ordered_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/rng.h"
#include "tests/support/local_team.h"

namespace ghost {
namespace {

using testing::ElementsAre;

template <class Value>
std::vector<std::vector<Value>> MakePieces(int64_t count, size_t size) {
  Rng rng(7);
  std::vector<std::vector<Value>> pieces(static_cast<size_t>(count));
  for (auto& piece : pieces) {
    // Of very different sizes, so that another order gives other bits.
    for (size_t i = 0; i < size; ++i)
      piece.push_back(static_cast<Value>(static_cast<double>(rng.Bits() % 1000003) /
                                         static_cast<double>(rng.Bits() % 977 + 1)));
  }
  return pieces;
}

// This process' share of the pieces, summed with everyone else's.
template <class Value>
std::vector<Value> SumOf(const std::vector<std::vector<Value>>& pieces, size_t size) {
  OrderedSums<Value> sums(size);
  const PieceRange share = ShareOf(static_cast<int64_t>(pieces.size()));
  for (int64_t i = share.begin; i < share.end; ++i)
    sums.Add(i, std::span<const Value>(pieces[static_cast<size_t>(i)]));
  std::vector<Value> total(size, Value{-1});
  sums.Combine(total);
  return total;
}

// The tree by its definition: halves of the smallest power of two that holds all pieces.
double TreeOf(const std::vector<std::vector<double>>& pieces, size_t element, size_t begin, size_t width) {
  if (width == 1) return pieces[begin][element];
  const double left = TreeOf(pieces, element, begin, width / 2);
  const size_t middle = begin + width / 2;
  return middle < pieces.size() ? left + TreeOf(pieces, element, middle, width / 2) : left;
}

TEST(OrderedSums, AreThoseOfABinaryTree) {
  for (const int64_t count : {1, 2, 3, 4, 5, 7, 8, 13, 64, 100}) {
    const auto pieces = MakePieces<double>(count, 3);
    const std::vector<double> sums = SumOf(pieces, 3);
    for (size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(sums[i], TreeOf(pieces, i, 0, std::bit_ceil(pieces.size()))) << count;
  }
}

TEST(OrderedSums, NoPiecesAreZeros) { EXPECT_THAT(SumOf<double>({}, 2), ElementsAre(0.0, 0.0)); }

TEST(OrderedSums, OnePieceIsItself) {
  const auto pieces = MakePieces<float>(1, 4);
  EXPECT_EQ(SumOf(pieces, 4), pieces[0]);
}

template <class Value>
void ExpectSameForEveryTeam() {
  for (const int64_t count : {0, 1, 2, 3, 5, 8, 11, 16, 37}) {
    const auto pieces = MakePieces<Value>(count, 5);
    const std::vector<Value> alone = SumOf(pieces, 5);
    for (const int size : {1, 2, 3, 4, 5, 8}) {
      RunLocalTeam(size, [&](int rank) {
        EXPECT_EQ(SumOf(pieces, 5), alone) << count << " pieces, rank " << rank << " of " << size;
      });
    }
  }
}

TEST(OrderedSums, SameBitsForEveryTeam) {
  ExpectSameForEveryTeam<double>();
  ExpectSameForEveryTeam<float>();
}

TEST(OrderedSums, WidensAndCanBeUsedAgain) {
  OrderedSums<double> sums(2);
  const std::vector<float> piece = {0.1f, 2.0f};
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 3; ++i) sums.Add(i, std::span<const float>(piece));
    std::vector<double> total(2);
    sums.Combine(total);
    EXPECT_THAT(total, ElementsAre(double{0.1f} + double{0.1f} + double{0.1f}, 6.0));
  }
}

// Ranges need not be equal: whoever has more pieces only has more to add.
TEST(OrderedSums, SameBitsForEveryCut) {
  const auto pieces = MakePieces<double>(9, 2);
  const std::vector<double> alone = SumOf(pieces, 2);
  for (int64_t cut = 0; cut <= 9; ++cut) {
    RunLocalTeam(2, [&](int rank) {
      OrderedSums<double> sums(2);
      for (int64_t i = rank == 0 ? 0 : cut; i < (rank == 0 ? cut : 9); ++i)
        sums.Add(i, std::span<const double>(pieces[static_cast<size_t>(i)]));
      std::vector<double> total(2);
      sums.Combine(total);
      EXPECT_EQ(total, alone) << cut;
    });
  }
}

}  // namespace
}  // namespace ghost
