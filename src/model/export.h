#pragma once

#include <deque>
#include <string>
#include <vector>

#include "model/directory.h"

// A model's tensors in the other forms that the engine reads: float16, int8, packed.
namespace residual::model {

// Tensors to be written, and the memory of those that are not in the model's own file.
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

// The parameters as they are stored. They last as long as `model`.
ExportedTensors stored_tensors(const Directory& model);
// Matrices as float16, the rest as it is. Running them gives what loading the model with float16
// precision gives, bit for bit.
ExportedTensors float16_tensors(const Directory& model);
// Matrices as int8 with a scale per row, the rest as it is. Running them gives what loading the
// model with int8 precision gives, bit for bit.
ExportedTensors int8_tensors(const Directory& model);

// Matrices as products read them, so that translating needs no copy of the file; only translating
// takes such a model.
ExportedTensors packed_tensors(const Directory& model);

}  // namespace residual::model
