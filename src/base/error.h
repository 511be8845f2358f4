// The project's only exception type. It is thrown where the problem is found, caught once in main,
// and printed as one block. It reports mistakes of users and faults in files; our own bugs are
// GHOST_CHECK (check.h).
#pragma once

#include <exception>
#include <string>

namespace ghost {

enum class ErrorKind {
  kUsage,         // unknown flag, bad value
  kNotFound,      // an input is missing
  kCorrupt,       // a file contradicts itself or its format
  kUnsupported,   // a file is well formed but needs a feature we lack
  kCannotCreate,  // the output exists already or cannot be created
  kIo,            // reading or writing failed
  kResumable,     // interrupted; the work done so far is kept
  kInternal,      // a bug of ours
};

// Where the error is and how to fix it; empty fields are not printed.
struct ErrorContext {
  std::string file;
  std::string tensor;  // or key, or line: the place inside the file
  std::string expected;
  std::string actual;
  std::string hint;  // what to do about it
  // The setting that decides, by its name in the caller's options ("max_length"). Not part of the block: only
  // the caller knows how its user sets it, e.g. as --max-length (cli/main.cc).
  std::string setting = {};
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what, ErrorContext context = {});

  ErrorKind kind() const { return kind_; }
  const ErrorContext& context() const { return context_; }
  // The summary alone, without the context.
  const std::string& summary() const { return summary_; }
  // The whole block: summary, then one indented line per context field.
  const char* what() const noexcept override { return block_.c_str(); }

 private:
  ErrorKind kind_;
  std::string summary_;
  ErrorContext context_;
  std::string block_;
};

// The process exit code of each kind (sysexits, docs/cli.md).
int ExitCode(ErrorKind kind);

}  // namespace ghost
