// residual-nccl.so: moves between GPUs by NCCL. residual-train loads it only for runs in several
// processes on GPUs, so that it needs neither NCCL nor CUDA itself.

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/version.h"
#include "train/ranks/device_link.h"

namespace residual::nccl {
namespace {

using train::DeviceIdentity;
using train::DeviceLink;

static_assert(sizeof(ncclUniqueId) <= sizeof(DeviceIdentity));

void check(ncclResult_t code, const char* what) {
  require(code == ncclSuccess, "{}: {}", what, ncclGetErrorString(code));
}
void check(cudaError_t code, const char* what) {
  require(code == cudaSuccess, "{}: {}", what, cudaGetErrorString(code));
}

// Moves wait for what the default stream was given before, which is where LibTorch works.
constexpr cudaStream_t kStream = nullptr;

class NcclLink final : public DeviceLink {
 public:
  NcclLink(const DeviceIdentity& identity, int rank, int size, int device) : device_(device) {
    ncclUniqueId id;
    std::memcpy(&id, identity.bytes, sizeof id);
    check(cudaSetDevice(device_), "cudaSetDevice");
    check(ncclCommInitRank(&communicator_, size, id, rank), "ncclCommInitRank");
  }
  // Also while a move waits for a rank that is lost.
  ~NcclLink() override { ncclCommAbort(communicator_); }
  NcclLink(const NcclLink&) = delete;
  NcclLink& operator=(const NcclLink&) = delete;

  void begin(std::span<const Part> sends, std::span<const Part> receives) override {
    check(cudaSetDevice(device_), "cudaSetDevice");  // of this thread
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Part& part : sends) {
      check(ncclSend(part.bytes, part.size, ncclChar, part.rank, communicator_, kStream),
            "ncclSend");
    }
    for (const Part& part : receives) {
      check(ncclRecv(part.bytes, part.size, ncclChar, part.rank, communicator_, kStream),
            "ncclRecv");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  bool done() override {
    ncclResult_t asynchronous = ncclSuccess;
    check(ncclCommGetAsyncError(communicator_, &asynchronous), "ncclCommGetAsyncError");
    check(asynchronous, "NCCL");
    const cudaError_t state = cudaStreamQuery(kStream);
    if (state == cudaErrorNotReady) return false;
    check(state, "cudaStreamQuery");
    return true;
  }

 private:
  int device_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace
}  // namespace residual::nccl

extern "C" {

const char* residual_device_version() {
  static const std::string text = fmt::format("{} {}", residual::version(), residual::commit());
  return text.c_str();
}

void residual_make_device_identity(residual::train::DeviceIdentity* identity) {
  ncclUniqueId id;
  residual::nccl::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::memcpy(identity->bytes, &id, sizeof id);
}

residual::train::DeviceLink* residual_open_device_link(
    const residual::train::DeviceIdentity* identity, int rank, int size, int device) {
  return new residual::nccl::NcclLink(*identity, rank, size, device);
}

}  // extern "C"
