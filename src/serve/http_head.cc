#include "serve/http_head.h"

#include <algorithm>

namespace ghost {
namespace {

// Characters of methods and header names (RFC 9110, token).
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool HasControls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 32 && c != '\t') || byte == 127;
  });
}

bool IsSame(std::string_view a, std::string_view lower) {
  return std::ranges::equal(
      a, lower, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsRequestLine(std::string_view line) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return false;
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  return IsToken(line.substr(0, first)) && !target.empty() && target.find(' ') == std::string_view::npos &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

}  // namespace

std::string HeadProblem(std::string_view head) {
  int lengths = 0, encodings = 0;
  for (size_t at = 0, number = 0; at <= head.size(); ++number) {
    const size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    if (HasControls(line)) return "the head of the request holds control characters";
    if (number == 0) {
      if (!IsRequestLine(line)) return "the request line is not METHOD PATH HTTP/1.1";
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !IsToken(line.substr(0, colon)))
      return "header line " + std::to_string(number) + " is not NAME: VALUE";
    const std::string_view name = line.substr(0, colon), value = Trimmed(line.substr(colon + 1));
    if (IsSame(name, "content-length")) {
      lengths += 1;
      const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
      if (!digits || value.size() > 18) return "Content-Length is not a number of bytes";
    } else if (IsSame(name, "transfer-encoding")) {
      encodings += 1;
      if (!IsSame(value, "chunked")) return "Transfer-Encoding is not chunked";
    }
  }
  if (lengths + encodings > 1) return "the request gives its length more than once";
  return "";
}

}  // namespace ghost
