#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual::interop {

// An array in a NumPy archive.
struct NpzArray {
  std::string dtype;  // NumPy's: "<f4"
  std::vector<int64_t> shape;
  std::string_view bytes;  // row-major, in the mapped file, unaligned

  int64_t size() const;
  std::vector<float> to_float() const;  // REQUIRES: dtype is "<f4"
};

// A NumPy archive (.npz): a zip file of uncompressed arrays, as Marian writes it. A malformed or
// otherwise encoded file is an Error.
class Npz {
 public:
  static Npz open(const fs::path& path);

  const std::string& name() const { return name_; }
  const std::map<std::string, NpzArray>& arrays() const { return arrays_; }
  bool contains(const std::string& array) const { return arrays_.contains(array); }
  const NpzArray& at(const std::string& array) const;  // throws an Error if absent

 private:
  explicit Npz(const fs::path& path) : file_(path), name_(path.string()) {}

  MappedFile file_;
  std::string name_;
  std::map<std::string, NpzArray> arrays_;
};

}  // namespace residual::interop
