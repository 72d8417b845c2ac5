#pragma once

#include <cstddef>
#include <span>

namespace residual::train {

// Moves bytes between the memories of the ranks' devices. One thread at a time makes the calls.
class DeviceLink {
 public:
  struct Part {
    int rank;  // where it goes to, or comes from
    void* bytes;
    size_t size;
  };

  virtual ~DeviceLink() = default;

  // Begins a move, after all work that the device was given before. All ranks begin the same moves
  // in the same order: each part that one sends is received by another, with the same size, and
  // parts between two ranks have the same order in both.
  virtual void begin(std::span<const Part> sends, std::span<const Part> receives) = 0;
  virtual bool done() = 0;  // whether the last move is complete
};

// What the module residual-nccl.so exports. An identity is made by rank 0 and given to all ranks.
struct DeviceIdentity {
  char bytes[128];
};
inline constexpr const char* kDeviceVersion = "residual_device_version";
inline constexpr const char* kMakeIdentity = "residual_make_device_identity";
inline constexpr const char* kOpenDevice = "residual_open_device_link";
using DeviceVersion = const char*();
using MakeIdentity = void(DeviceIdentity*);
using OpenDevice = DeviceLink*(const DeviceIdentity*, int rank, int size, int device);

}  // namespace residual::train
