// Checks shared by all readers' corruption tests: a bad file must give the right error, and a damaged one
// must not crash the reader.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "base/error.h"
#include "tests/support/hostile_file.h"
#include "tests/support/temp_dir.h"

namespace ghost {

using ReadFn = std::function<void(const std::string& path)>;

// Reading must throw the expected kind of Error, which names a file of the case's folder and
// everything in `must_mention`.
inline void ExpectRefused(const HostileFile& hostile, const ReadFn& read) {
  const TempDir dir;
  for (const auto& [name, bytes] : hostile.files) dir.Write(name, bytes);
  try {
    read(dir.File(hostile.open));
    ADD_FAILURE() << hostile.name << ": was read without complaint";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), hostile.kind) << e.what();
    EXPECT_THAT(e.context().file, testing::StartsWith(dir.path()));
    for (const std::string& part : hostile.must_mention) EXPECT_THAT(e.what(), testing::HasSubstr(part));
  }
}

// For INSTANTIATE_TEST_SUITE_P: names each test after its case.
inline std::string NameOfCase(const testing::TestParamInfo<HostileFile>& info) { return info.param.name; }

// Reads the file; true if it was accepted, false on an Error. Any other exception fails the test, and a
// crash ends the whole run.
inline bool Survives(const std::string& path, const ReadFn& read) {
  try {
    read(path);
    return true;
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::kInternal) << e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "not an Error: " << e.what();
  }
  return false;
}

// Every proper prefix must be refused, or may be accepted where `may_accept` says so; none may crash.
inline void ExpectCutsAreRefused(
    const std::string& bytes, const ReadFn& read,
    const std::function<bool(size_t)>& may_accept = [](size_t) { return false; }) {
  const TempDir dir;
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (Survives(dir.Write("cut", bytes.substr(0, size)), read) && !may_accept(size)) {
      ADD_FAILURE() << "cut to " << size << " of " << bytes.size() << " bytes, and accepted";
    }
  }
}

// Flips single bits and whole bytes in [begin, end). No checksum protects these formats, so
// accepting the file is fine.
inline void ExpectFlipsAreSurvived(const std::string& bytes, size_t begin, size_t end, const ReadFn& read) {
  const TempDir dir;
  const std::string path = dir.Write("flipped", bytes);
  const auto patch = [&](size_t at, int byte) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte));
  };
  for (size_t at = begin; at < std::min(end, bytes.size()); ++at) {
    for (const int mask : {0x01, 0x04, 0x20, 0x80, 0xff}) {
      patch(at, bytes[at] ^ mask);
      Survives(path, read);
    }
    patch(at, bytes[at]);
  }
}

}  // namespace ghost
