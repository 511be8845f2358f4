// The only file that knows MPI. Errors of MPI itself end the whole job (its default): there is no way on.
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>

#include "cluster/mpi_calls.h"

namespace {

constexpr int kTag = 16;
constexpr size_t kLargest = size_t{1} << 30;  // of one call: MPI counts in int

template <class Call>
void InParts(size_t size, Call call) {
  for (size_t begin = 0; begin < size; begin += kLargest)
    call(begin, static_cast<int>(std::min(kLargest, size - begin)));
}

void Send(int to, const void* bytes, size_t size) {
  InParts(size, [&](size_t begin, int count) {
    MPI_Send(static_cast<const char*>(bytes) + begin, count, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  });
}

void Receive(int from, void* bytes, size_t size) {
  InParts(size, [&](size_t begin, int count) {
    MPI_Recv(static_cast<char*>(bytes) + begin, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  });
}

void Broadcast(void* bytes, size_t size) {
  InParts(size, [&](size_t begin, int count) {
    MPI_Bcast(static_cast<char*>(bytes) + begin, count, MPI_BYTE, /*root=*/0, MPI_COMM_WORLD);
  });
}

void Leave() { MPI_Finalize(); }

void EndAll(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

// The cores that the processes of this machine may use, shared among them; but not more than this process may
// use itself, which is fewer when the launcher has bound it.
int CoresPerProcess() {
  cpu_set_t mine, all;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int processes = 1;
  MPI_Comm_size(machine, &processes);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, machine);
  MPI_Comm_free(&machine);
  return std::max(1, std::min(CPU_COUNT(&mine), CPU_COUNT(&all) / processes));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void GhostJoinMpi(ghost::MpiCalls* calls) {
  // Who waits for a message lets others have the core; the user's own setting wins.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  int provided = 0;
  // Other threads exist, but only the main one sends and receives.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &calls->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &calls->size);
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  std::copy_n(name, std::min<size_t>(static_cast<size_t>(length), sizeof calls->host - 1), calls->host);
  calls->cores = CoresPerProcess();
  calls->send = Send;
  calls->receive = Receive;
  calls->broadcast = Broadcast;
  calls->leave = Leave;
  calls->end_all = EndAll;
}
