// Reads any bytes as a safetensors file: the result is an Error, or fully readable tensors.

#include "fuzz/input.h"
#include "model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace residual;
  return fuzz::allowing_errors([&] {
    const auto file = model::SafeTensors::parse(fuzz::text(data, size), "input");
    volatile char sum = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      for (const char byte : tensor.bytes) sum = static_cast<char>(sum + byte);
    }
  });
}
