#pragma once

#include <cstdint>
#include <functional>

namespace residual {

// Cores this process may run on: the CPU affinity mask, capped by a cgroup's CPU quota.
int available_cores();

// Moves the calling thread to another CPU if it runs on this one and may run elsewhere. For a
// thread that was begun or woken to help another: Linux may put the two on one CPU and take
// milliseconds to part them, in virtual machines above all.
void leave_cpu(int cpu);
int current_cpu();

// Threads that parallel_for uses; available_cores() unless set. At least 1.
int thread_count();
void set_thread_count(int threads);

// Calls body(begin, end) for consecutive pieces of [0, count), each `grain` long but the last, on
// all threads. Pieces do not depend on the number of threads. The first exception (of the lowest
// piece that threw) is rethrown after all pieces have ended; pieces not yet begun are dropped.
// A call from inside a body runs in that thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace residual
