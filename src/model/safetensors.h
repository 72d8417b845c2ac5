#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

// The safetensors format: eight bytes with the length of a JSON header, the header, the tensors'
// bytes. Nothing in it can be executed, and a reader needs to trust nothing: open() refuses every
// file whose header is not exactly right (docs/formats.md lists the rules).
namespace residual::model {

enum class Dtype { boolean, u8, i8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

int64_t size_of(Dtype dtype);
const char* name_of(Dtype dtype);  // as in the header: "F32"

// One tensor of an open file; `bytes` lasts as long as the file.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  std::string_view bytes;

  int64_t size() const;  // elements

  // The elements where they are. REQUIRES: dtype is T's; an Error otherwise, or if the file did
  // not align them.
  template <class T>
  std::span<const T> values() const;
  // The elements as float, widened or narrowed from any floating-point type.
  std::vector<float> to_float() const;
};

class SafeTensors {
 public:
  static SafeTensors open(const fs::path& path);
  // The same for bytes in memory; `name` stands in errors. The bytes must outlive the object.
  static SafeTensors parse(std::string_view bytes, const std::string& name);

  bool contains(const std::string& name) const { return tensors_.contains(name); }
  // An Error names a tensor that is not there.
  const TensorView& at(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& name() const { return name_; }
  // Copies a part of a tensor's bytes; MappedFile::copy where there is a file.
  void copy(std::string_view part, char* into) const noexcept;

 private:
  std::optional<MappedFile> file_;
  std::string name_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A tensor to be written; `bytes` must last until write_safetensors has returned.
struct TensorBytes {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

// Writes a file that appears whole or not at all. Tensors whose size is a multiple of 64 bytes come
// first and start at such multiples, the others at those of their elements: of each, the widest
// element first, then by name. Same input, same bytes.
void write_safetensors(const fs::path& path, std::vector<TensorBytes> tensors,
                       const std::map<std::string, std::string>& metadata,
                       FileSystem& system = FileSystem::real());

}  // namespace residual::model
