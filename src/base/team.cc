#include "base/team.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace ghost {
namespace {

class Alone final : public Team {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return ""; }
  int cores() const override { return 0; }
  void Send(int, std::span<const std::byte>) override { GHOST_CHECK(false); }
  void Receive(int, std::span<std::byte>) override { GHOST_CHECK(false); }
  void Broadcast(std::span<std::byte>) override {}
};

thread_local Team* current_team = nullptr;

// A text with its length in front.
void SendText(Team& team, int to, std::string_view text) {
  const uint64_t size = text.size();
  team.Send(to, std::as_bytes(std::span(&size, 1)));
  if (size > 0) team.Send(to, std::as_bytes(std::span(text)));
}

std::string ReceiveText(Team& team, int from) {
  uint64_t size = 0;
  team.Receive(from, std::as_writable_bytes(std::span(&size, 1)));
  std::string text(size, '\0');
  if (size > 0) team.Receive(from, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

Team& CurrentTeam() {
  static Alone alone;
  return current_team ? *current_team : alone;
}

void SetTeam(Team* team) { current_team = team; }

PieceRange ShareOf(int64_t pieces) {
  const Team& team = CurrentTeam();
  return {pieces * team.rank() / team.size(), pieces * (team.rank() + 1) / team.size()};
}

void WaitForTeam() { AllTexts(""); }

std::string LeadersText(std::string text) {
  Team& team = CurrentTeam();
  if (team.size() == 1) return text;
  uint64_t size = text.size();
  team.Broadcast(std::as_writable_bytes(std::span(&size, 1)));
  text.resize(size);
  if (size > 0) team.Broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<std::string> AllTexts(std::string_view mine) {
  Team& team = CurrentTeam();
  std::vector<std::string> all(static_cast<size_t>(team.size()));
  if (!team.leads()) SendText(team, 0, mine);
  for (int rank = 0; rank < team.size(); ++rank) {
    std::string& text = all[static_cast<size_t>(rank)];
    if (team.leads()) text = rank == 0 ? std::string(mine) : ReceiveText(team, rank);
  }
  for (std::string& text : all) text = LeadersText(std::move(text));
  return all;
}

void JoinParts(std::span<float> whole, size_t begin, size_t end) {
  GHOST_CHECK(begin <= end && end <= whole.size());
  Team& team = CurrentTeam();
  const size_t mine[] = {begin, end};
  const std::vector<size_t> parts = AllValues(std::span<const size_t>(mine));
  if (!team.leads() && begin < end) team.Send(0, std::as_bytes(whole.subspan(begin, end - begin)));
  for (size_t rank = 1; rank < parts.size() / 2 && team.leads(); ++rank) {
    const size_t from = parts[2 * rank], to = parts[2 * rank + 1];
    if (from < to)
      team.Receive(static_cast<int>(rank), std::as_writable_bytes(whole.subspan(from, to - from)));
  }
  if (!whole.empty()) team.Broadcast(std::as_writable_bytes(whole));
}

void RequireSame(std::string_view what, const std::string& text) {
  const std::string leaders = LeadersText(text);
  if (leaders == text) return;
  const auto differs = std::ranges::mismatch(leaders, text);
  const auto around = [](const std::string& of, auto at) {
    constexpr ptrdiff_t kBefore = 40, kShown = 120;
    const ptrdiff_t begin = std::max<ptrdiff_t>(0, at - of.begin() - kBefore);
    return of.substr(static_cast<size_t>(begin), kShown);
  };
  throw Error(ErrorKind::kUsage, "processes of one run disagree about " + std::string(what),
              {.expected = around(leaders, differs.in1),
               .actual = around(text, differs.in2),
               .hint = "every process must see the same files and be the same program"});
}

}  // namespace ghost
