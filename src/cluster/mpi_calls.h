// What the MPI module (mpi_module.cc) gives to the program, as plain C. The module is a shared library of its
// own that is loaded only when a launcher has started the program, so that nobody else pays for MPI: neither
// for loading its libraries nor by having to install them.
#pragma once

#include <cstddef>

namespace ghost {

struct MpiCalls {
  int rank = 0, size = 1;
  int cores = 1;  // of this machine, for each of its processes
  char host[256] = {};
  void (*send)(int to, const void* bytes, size_t size) = nullptr;
  void (*receive)(int from, void* bytes, size_t size) = nullptr;
  void (*broadcast)(void* bytes, size_t size) = nullptr;
  void (*leave)() = nullptr;                 // when all have: ends MPI
  void (*end_all)(int exit_code) = nullptr;  // ends all processes at once, this one included
};

inline constexpr const char* kMpiEntry = "GhostJoinMpi";
using MpiEntry = void (*)(MpiCalls* calls);  // starts MPI and fills in `calls`

}  // namespace ghost
