// A team of threads in one process: what MPI does between processes, for tests that need no launcher.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/team.h"

namespace ghost {

class LocalPost {
 public:
  void Send(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    boxes_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  void Receive(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty() || failed_; });
    GHOST_CHECK(!box.empty());  // or another member has thrown
    GHOST_CHECK(box.front().size() == bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), box.front().data(), bytes.size());
    box.pop_front();
  }
  // Whoever waits for a message that is not there throws from now on.
  void Fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    arrived_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> boxes_;
  bool failed_ = false;
};

class LocalTeam final : public Team {
 public:
  LocalTeam(LocalPost& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override { return "here"; }
  int cores() const override { return 1; }
  void Send(int to, std::span<const std::byte> bytes) override { post_.Send(rank_, to, bytes); }
  void Receive(int from, std::span<std::byte> bytes) override { post_.Receive(from, rank_, bytes); }
  void Broadcast(std::span<std::byte> bytes) override {
    if (rank_ != 0) return post_.Receive(0, rank_, bytes);
    for (int to = 1; to < size_; ++to) post_.Send(0, to, bytes);
  }

 private:
  LocalPost& post_;
  int rank_, size_;
};

// Calls body(rank) on `size` threads that form a team, and rethrows what the first of them has thrown.
inline void RunLocalTeam(int size, const std::function<void(int rank)>& body) {
  LocalPost post;
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      LocalTeam team(post, rank, size);
      SetTeam(&team);
      try {
        body(rank);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        post.Fail();
      }
      SetTeam(nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ghost
