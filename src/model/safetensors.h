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
// bytes. The format contains no code, and the reader trusts nothing: open() rejects every file
// whose header is not exactly right (docs/formats.md lists the rules).
namespace residual::model {

enum class Dtype { boolean, u8, i8, i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64 };

int64_t size_of(Dtype dtype);
const char* name_of(Dtype dtype);  // as in the header: "F32"

// One tensor of an open file; `bytes` is valid as long as the file.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  std::string_view bytes;

  int64_t size() const;  // number of elements

  // Returns the elements without a copy. Throws an Error unless dtype is that of T and the file
  // aligns the elements.
  template <class T>
  std::span<const T> values() const;
  // Returns the elements as float, converted from any floating-point type.
  std::vector<float> to_float() const;
};

class SafeTensors {
 public:
  static SafeTensors open(const fs::path& path);
  // Opens bytes in memory, which must outlive the object; `name` is the file name in errors.
  static SafeTensors parse(std::string_view bytes, const std::string& name);

  bool contains(const std::string& name) const { return tensors_.contains(name); }
  // Throws an Error that names the tensor if it is absent.
  const TensorView& at(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& name() const { return name_; }
  // The bytes of the whole file.
  std::string_view bytes() const { return bytes_; }
  // Copies a part of a tensor's bytes, with MappedFile::copy if there is a file.
  void copy(std::string_view part, char* into) const noexcept;

 private:
  std::optional<MappedFile> file_;
  std::string_view bytes_;
  std::string name_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// The key of metadata that holds the BlockChecksum of the whole file, in which the checksum's own
// 16 digits count as zeros.
inline constexpr const char* kFileChecksum = "file_checksum";

// Returns where the header of a file keeps the digits of its kFileChecksum; nothing if it has none.
std::string_view file_checksum_digits(const SafeTensors& file);

// A tensor to write; `bytes` must stay valid until write_safetensors returns.
struct TensorBytes {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

// Writes a file that appears complete or not at all. Tensors whose size is a multiple of 64 bytes
// come first, aligned to 64 bytes; the others are aligned to their elements. Each group is sorted
// by decreasing element width, then by name. The same input gives the same bytes. If the metadata
// has a kFileChecksum, its value is computed.
void write_safetensors(const fs::path& path, std::vector<TensorBytes> tensors,
                       const std::map<std::string, std::string>& metadata,
                       FileSystem& system = FileSystem::real());

}  // namespace residual::model
