#include "base/error.h"

#include <utility>

namespace ghost {

Error::Error(ErrorKind kind, std::string what, ErrorContext context)
    : kind_(kind), summary_(std::move(what)), context_(std::move(context)) {
  block_ = summary_;
  const auto line = [this](const char* label, const std::string& text) {
    if (!text.empty()) block_ += std::string("\n  ") + label + text;
  };
  line("file:     ", context_.file);
  line("at:       ", context_.tensor);
  line("expected: ", context_.expected);
  line("found:    ", context_.actual);
  line("hint:     ", context_.hint);
}

int ExitCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 64;
    case ErrorKind::kCorrupt:
      return 65;
    case ErrorKind::kUnsupported:
      return 65;
    case ErrorKind::kNotFound:
      return 66;
    case ErrorKind::kInternal:
      return 70;
    case ErrorKind::kCannotCreate:
      return 73;
    case ErrorKind::kResumable:
      return 75;
    case ErrorKind::kIo:
      return 74;
  }
  return 70;
}

}  // namespace ghost
