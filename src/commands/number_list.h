// Lists of numbers in options, such as 0,3 or 2,0.5.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace ghost {

// Numbers with one comma between them and nothing else; nullopt for any other text. Empty text is no number.
template <class Number>
std::optional<std::vector<Number>> ParseNumbers(const std::string& text) {
  std::vector<Number> numbers;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    Number number{};
    const auto [next, error] = std::from_chars(at, end, number);
    const bool last = next == end;
    if (error != std::errc() || (!last && (*next != ',' || next + 1 == end))) return std::nullopt;
    numbers.push_back(number);
    at = last ? end : next + 1;
  }
  return numbers;
}

}  // namespace ghost
