#pragma once

#include <deque>
#include <string>
#include <vector>

#include "model/directory.h"

// A model's tensors in the other formats that the engine reads: float16, int8, packed.
namespace residual::model {

// Tensors to write, and the memory of those that are not in the model's file.
struct ExportedTensors {
  std::vector<TensorBytes> list;
  std::deque<std::string> made;

  void add(const std::string& name, Dtype dtype, const std::vector<int64_t>& shape,
           std::string bytes);

  template <class T>
  void add(const std::string& name, Dtype dtype, const std::vector<int64_t>& shape,
           const std::vector<T>& values) {
    add(name, dtype, shape,
        std::string(reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size()));
  }
};

// Returns the parameters as stored. They are valid as long as `model`.
ExportedTensors stored_tensors(const Directory& model);
// Returns matrices as float16 and the rest unchanged. The result runs bit for bit like the model
// loaded with float16 precision.
ExportedTensors float16_tensors(const Directory& model);
// Returns matrices as int8 with a scale per row and the rest unchanged. The result runs bit for bit
// like the model loaded with int8 precision.
ExportedTensors int8_tensors(const Directory& model);

// Returns matrices in the layout that matrix products read, so that translation needs no copy of
// the file. Such a model can only translate.
ExportedTensors packed_tensors(const Directory& model);

}  // namespace residual::model
