// Finds added tokens (special tokens, runs of spaces) in text before the rest is split and merged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// A piece of the text: an added token, or (id -1) ordinary text between added tokens.
struct AddedPiece {
  size_t begin;
  size_t end;
  int32_t id;
};

// Leftmost-longest matching of a fixed set of tokens. Immutable; threads may share it.
class AddedTokenMatcher {
 public:
  // Adds a token that is matched as `spelling` (its content, normalised if the token requires it).
  void Add(const AddedToken& token, const std::string& spelling);

  bool empty() const { return tokens_.empty(); }

  // Splits `text` (valid UTF-8) into pieces. Ordinary pieces are not empty. A token with lstrip or rstrip
  // includes the white space it swallows.
  std::vector<AddedPiece> Split(std::string_view text) const;

 private:
  // A trie whose children form a sibling list: few tokens, so short lists.
  struct Node {
    unsigned char byte = 0;
    int32_t token = -1;  // index into tokens_
    int32_t child = -1;
    int32_t sibling = -1;
  };
  struct Match {
    size_t begin;
    size_t end;
    int32_t token;  // -1: none
  };

  int32_t FindChild(int32_t node, unsigned char byte) const;
  Match FindFrom(std::string_view text, size_t start) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = std::vector<Node>(1);  // the root
  std::array<bool, 256> starts_{};
};

}  // namespace ghost
