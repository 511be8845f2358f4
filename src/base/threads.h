// Parallel loops. The caller divides the work into numbered pieces, so that the division, and with it every
// rounding, does not depend on the number of threads. All parallel computation goes through here; other
// threads only wait: for connections and requests (serve), or to sample memory use (memory_usage.h).
#pragma once

#include <cstdint>
#include <functional>

namespace ghost {

// How many threads ParallelFor uses: SetThreads' value, else OMP_NUM_THREADS, else the cores of the machine.
int NumThreads();
void SetThreads(int threads);  // 0 restores the default

// Work of fewer elementary operations than this runs on the calling thread, because waking the
// others would take longer.
inline constexpr int64_t kSerialWork = 1 << 17;

// Calls body(i) exactly once for every i in [0, count), in any order, on NumThreads() threads, and
// waits. `work` estimates the elementary operations of all pieces together. Rethrows the first
// exception. Nested calls run serially.
void ParallelFor(int64_t count, const std::function<void(int64_t)>& body, int64_t work = kSerialWork);

// The number of the calling thread inside ParallelFor, in [0, NumThreads()); 0 outside.
int ThreadIndex();

}  // namespace ghost
