// A queue that serves its clients in turn: somebody who sends a hundred jobs does not delay another's one by
// more than one job.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <string>
#include <utility>

namespace ghost {

// Items of one client keep their order. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  void Push(const std::string& client, Item item) {
    ++size_;
    for (Turn& turn : turns_) {
      if (turn.client == client) return turn.items.push_back(std::move(item));
    }
    turns_.push_back({client, {}});
    turns_.back().items.push_back(std::move(item));
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // The next item, which stays until Pop. Not of an empty queue.
  Item& Front() { return turns_.front().items.front(); }
  Item Pop() {
    Turn& turn = turns_.front();
    Item item = std::move(turn.items.front());
    turn.items.pop_front();
    --size_;
    if (turn.items.empty()) {
      turns_.pop_front();
    } else {
      turns_.splice(turns_.end(), turns_, turns_.begin());
    }
    return item;
  }

  // Removes the items for which `gone` is true, wherever they are; `gone` may move from them.
  template <class Predicate>
  void RemoveIf(Predicate gone) {
    for (Turn& turn : turns_) size_ -= std::erase_if(turn.items, gone);
    turns_.remove_if([](const Turn& turn) { return turn.items.empty(); });
  }

 private:
  struct Turn {
    std::string client;
    std::deque<Item> items;
  };
  std::list<Turn> turns_;  // the first is next
  size_t size_ = 0;
};

}  // namespace ghost
