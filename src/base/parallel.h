#pragma once

#include <cstdint>
#include <functional>

namespace residual {

// Returns the number of cores this process may run on: the CPU affinity mask, capped by the CPU
// quota of a control group.
int available_cores();

// Moves the calling thread to another CPU if it runs on `cpu` and may run elsewhere. A thread that
// was started or woken to help another calls this: Linux may put both on one CPU and take
// milliseconds to separate them, above all in virtual machines.
void leave_cpu(int cpu);
int current_cpu();

// The number of threads that parallel_for uses: available_cores() unless set, and at least 1.
int thread_count();
void set_thread_count(int threads);

// Calls body(begin, end) on all threads for consecutive pieces of [0, count), each `grain` long
// except the last. The pieces do not depend on the number of threads. If bodies throw, the
// exception of the lowest piece is rethrown after all running pieces have ended; pieces that have
// not started are dropped. A nested call runs in the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace residual
