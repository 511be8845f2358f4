#include "cluster/join_team.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "cluster/mpi_calls.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "ghost_mpi.so";

int NumberOf(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// Whether a launcher that speaks MPI has started this process beside others. Open MPI's mpirun and MPICH-like
// ones say how many; of those that only speak PMIx (srun --mpi=pmix), Slurm says it.
bool HasCompany() {
  if (NumberOf("OMPI_COMM_WORLD_SIZE") > 1 || NumberOf("PMI_SIZE") > 1) return true;
  return std::getenv("PMIX_RANK") != nullptr && NumberOf("SLURM_STEP_NUM_TASKS") > 1;
}

// Beside the program, as in a build folder, or where it is installed.
fs::path FindModule() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& folder : {program, program / GHOST_MODULE_FOLDER}) {
    if (fs::exists(folder / kModule, failed)) return folder / kModule;
  }
  throw Error(ErrorKind::kUnsupported, "several processes were started, but this ghost was built without MPI",
              {.file = (program / kModule).string(),
               .hint = "build it where Open MPI is installed (docs/cluster.md), or start one process"});
}

class MpiTeam final : public StartedTeam {
 public:
  explicit MpiTeam(const MpiCalls& calls) : calls_(calls) {}

  int rank() const override { return calls_.rank; }
  int size() const override { return calls_.size; }
  std::string host() const override { return calls_.host; }
  int cores() const override { return calls_.cores; }
  void Send(int to, std::span<const std::byte> bytes) override {
    calls_.send(to, bytes.data(), bytes.size());
  }
  void Receive(int from, std::span<std::byte> bytes) override {
    calls_.receive(from, bytes.data(), bytes.size());
  }
  void Broadcast(std::span<std::byte> bytes) override { calls_.broadcast(bytes.data(), bytes.size()); }
  void Leave() override { calls_.leave(); }
  [[noreturn]] void EndAll(int exit_code) override {
    calls_.end_all(exit_code);
    std::_Exit(exit_code);
  }

 private:
  MpiCalls calls_;
};

}  // namespace

std::unique_ptr<StartedTeam> JoinTeam() {
  if (!HasCompany()) return nullptr;
  const std::string module = FindModule().string();
  // Global, because Open MPI's own plugins look for its symbols.
  void* library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* entry = library ? ::dlsym(library, kMpiEntry) : nullptr;
  if (entry == nullptr) {
    throw Error(ErrorKind::kUnsupported, "MPI cannot be loaded", {.file = module, .actual = ::dlerror()});
  }
  MpiCalls calls;
  reinterpret_cast<MpiEntry>(entry)(&calls);
  return std::make_unique<MpiTeam>(calls);
}

}  // namespace ghost
