#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/suggest.h"
#include "kernels/matrix.h"

static_assert(std::endian::native == std::endian::little, "tensors are used where they are mapped");

namespace residual::model {
namespace {

using nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr int kMaxDepth = 3;                  // header, tensor, shape
constexpr uint64_t kMaxRank = 64;

struct DtypeRow {
  Dtype dtype;
  const char* name;
  int64_t size;
};
constexpr std::array<DtypeRow, 13> kDtypes = {{{Dtype::boolean, "BOOL", 1},
                                               {Dtype::u8, "U8", 1},
                                               {Dtype::i8, "I8", 1},
                                               {Dtype::i16, "I16", 2},
                                               {Dtype::u16, "U16", 2},
                                               {Dtype::f16, "F16", 2},
                                               {Dtype::bf16, "BF16", 2},
                                               {Dtype::i32, "I32", 4},
                                               {Dtype::u32, "U32", 4},
                                               {Dtype::f32, "F32", 4},
                                               {Dtype::i64, "I64", 8},
                                               {Dtype::u64, "U64", 8},
                                               {Dtype::f64, "F64", 8}}};

const DtypeRow& row_of(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

// Parses with a bound on nesting, and refuses a key that stands twice in one object: the DOM would
// keep one of them silently.
json parse_header(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    require(depth <= kMaxDepth, "{}: header nests deeper than {} levels", file, kMaxDepth);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys.back().insert(key).second, "{}: \"{}\" stands twice in the header", file, key);
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception&) {
    fail("{}: the header is not JSON; the file is damaged or not safetensors", file);
  }
}

uint64_t unsigned_number(const json& value, const std::string& file, const std::string& tensor) {
  require(value.is_number_unsigned(), "{}: tensor \"{}\": expected a whole number, got {}", file,
          tensor, value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40));
  return value.get<uint64_t>();
}

Dtype parse_dtype(const json& value, const std::string& file, const std::string& tensor) {
  require(value.is_string(), "{}: tensor \"{}\": dtype is not a string", file, tensor);
  const auto& name = value.get_ref<const std::string&>();
  for (const auto& row : kDtypes) {
    if (name == row.name) return row.dtype;
  }
  fail("{}: tensor \"{}\": unknown dtype \"{}\"", file, tensor, name);
}

TensorView parse_tensor(const std::string& name, const json& entry, std::string_view data,
                        const std::string& file) {
  require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") &&
              entry.contains("shape") && entry.contains("data_offsets"),
          "{}: tensor \"{}\" must have dtype, shape and data_offsets, and nothing else", file,
          name);
  TensorView tensor{.name = name, .dtype = parse_dtype(entry["dtype"], file, name)};
  const json &shape = entry["shape"], &offsets = entry["data_offsets"];
  require(shape.is_array() && shape.size() <= kMaxRank, "{}: tensor \"{}\": shape is not a list",
          file, name);
  require(offsets.is_array() && offsets.size() == 2,
          "{}: tensor \"{}\": data_offsets are not two numbers", file, name);
  const uint64_t begin = unsigned_number(offsets[0], file, name);
  const uint64_t end = unsigned_number(offsets[1], file, name);
  require(begin <= end && end <= data.size(),
          "{}: tensor \"{}\": bytes {} to {} are not within the file's {} bytes of data", file,
          name, begin, end, data.size());
  auto bytes = static_cast<uint64_t>(size_of(tensor.dtype));
  for (const auto& dimension : shape) {
    const uint64_t n = unsigned_number(dimension, file, name);
    // No product can exceed the file's size, unless a later dimension is 0.
    require(!__builtin_mul_overflow(bytes, n, &bytes) && n <= INT64_MAX,
            "{}: tensor \"{}\": shape {} is too large", file, name, shape.dump());
    tensor.shape.push_back(static_cast<int64_t>(n));
  }
  require(bytes == end - begin, "{}: tensor \"{}\": {} {} needs {} bytes, the header gives it {}",
          file, name, name_of(tensor.dtype), shape.dump(), bytes, end - begin);
  tensor.bytes = data.substr(begin, end - begin);
  return tensor;
}

// Tensors must cover the data exactly, each byte once: nothing can hide between them.
void check_coverage(const std::map<std::string, TensorView>& tensors, std::string_view data,
                    const std::string& file) {
  std::vector<const TensorView*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::ranges::sort(
      order, {}, [](const TensorView* t) { return std::pair(t->bytes.data(), t->bytes.size()); });
  const char* at = data.data();
  for (const TensorView* tensor : order) {
    require(tensor->bytes.data() == at, "{}: tensor \"{}\" {}", file, tensor->name,
            tensor->bytes.data() < at ? "overlaps another" : "leaves a hole before it");
    at += tensor->bytes.size();
  }
  require(at == data.data() + data.size(), "{}: {} bytes after the last tensor", file,
          data.data() + data.size() - at);
}

template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>) return Dtype::f32;
  if constexpr (std::is_same_v<T, double>) return Dtype::f64;
  if constexpr (std::is_same_v<T, int64_t>) return Dtype::i64;
  if constexpr (std::is_same_v<T, int32_t>) return Dtype::i32;
  if constexpr (std::is_same_v<T, int8_t>) return Dtype::i8;
  if constexpr (std::is_same_v<T, uint8_t>) return Dtype::u8;
}

// Element i, wherever it lies.
template <class T>
T element(std::string_view bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

int64_t size_of(Dtype dtype) { return row_of(dtype).size; }
const char* name_of(Dtype dtype) { return row_of(dtype).name; }

int64_t TensorView::size() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }

template <class T>
std::span<const T> TensorView::values() const {
  require(dtype == dtype_of<T>(), "tensor \"{}\" is {}, expected {}", name, name_of(dtype),
          name_of(dtype_of<T>()));
  require(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(T) == 0,
          "tensor \"{}\" is not aligned in its file", name);
  return {reinterpret_cast<const T*>(bytes.data()), static_cast<size_t>(size())};
}
template std::span<const float> TensorView::values() const;
template std::span<const double> TensorView::values() const;
template std::span<const int64_t> TensorView::values() const;
template std::span<const int32_t> TensorView::values() const;
template std::span<const int8_t> TensorView::values() const;
template std::span<const uint8_t> TensorView::values() const;

std::vector<float> TensorView::to_float() const {
  std::vector<float> out(static_cast<size_t>(size()));
  for (size_t i = 0; i < out.size(); ++i) {
    switch (dtype) {
      case Dtype::f32:
        out[i] = element<float>(bytes, i);
        break;
      case Dtype::f64:
        out[i] = static_cast<float>(element<double>(bytes, i));
        break;
      case Dtype::f16:
        out[i] = kernels::widened(element<uint16_t>(bytes, i));
        break;
      case Dtype::bf16:
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(element<uint16_t>(bytes, i)) << 16);
        break;
      default:
        fail("tensor \"{}\" is {}, expected a floating-point type", name, name_of(dtype));
    }
  }
  return out;
}

SafeTensors SafeTensors::parse(std::string_view bytes, const std::string& name) {
  SafeTensors out;
  out.name_ = name;
  require(bytes.size() >= kLengthBytes, "{}: {} bytes are too few for a safetensors file", name,
          bytes.size());
  require(!bytes.starts_with("PK\3\4"),
          "{}: is a zip archive, as PyTorch's checkpoints are; save its tensors as safetensors "
          "(docs/commands/import-fairseq.md has the three lines of Python)",
          name);
  const auto length = element<uint64_t>(bytes, 0);
  require(length <= kMaxHeader,
          "{}: header of {} bytes exceeds the format's {}; not a safetensors file", name, length,
          kMaxHeader);
  require(length <= bytes.size() - kLengthBytes,
          "{}: header of {} bytes, but the file ends after {}", name, length,
          bytes.size() - kLengthBytes);
  const std::string_view header = bytes.substr(kLengthBytes, length);
  const std::string_view data = bytes.substr(kLengthBytes + length);
  require(header.starts_with('{'),
          "{}: the header does not start with '{{'; not a safetensors file", name);

  const json parsed = parse_header(header, name);
  require(parsed.is_object(), "{}: the header is not a JSON object", name);
  for (const auto& [key, value] : parsed.items()) {
    if (key != "__metadata__") {
      out.tensors_.emplace(key, parse_tensor(key, value, data, name));
      continue;
    }
    require(value.is_object(), "{}: __metadata__ is not an object", name);
    for (const auto& [field, text] : value.items()) {
      require(text.is_string(), "{}: metadata \"{}\" is not a string", name, field);
      out.metadata_.emplace(field, text.get<std::string>());
    }
  }
  check_coverage(out.tensors_, data, name);
  return out;
}

SafeTensors SafeTensors::open(const fs::path& path) {
  MappedFile file(path);
  SafeTensors out = parse(file.bytes(), path.string());
  out.file_ = std::move(file);
  return out;
}

const TensorView& SafeTensors::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, tensor] : tensors_) known.push_back(other);
  fail("{}: no tensor \"{}\"{}", name_, name, suggestion(name, known));
}

void write_safetensors(const fs::path& path, std::vector<TensorBytes> tensors,
                       const std::map<std::string, std::string>& metadata, FileSystem& system) {
  constexpr size_t kAlignment = 64;  // a cache line
  std::ranges::sort(tensors, {}, [](const TensorBytes& t) {
    return std::tuple(t.bytes.size() % kAlignment != 0, -size_of(t.dtype), t.name);
  });
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    int64_t bytes = size_of(tensor.dtype);
    bool fits = true;
    for (const int64_t n : tensor.shape) fits &= !__builtin_mul_overflow(bytes, n, &bytes);
    require(fits && bytes == static_cast<int64_t>(tensor.bytes.size()),
            "tensor \"{}\": its shape and its {} bytes do not agree", tensor.name,
            tensor.bytes.size());
    require(tensor.name != "__metadata__" && !header.contains(tensor.name),
            "tensor \"{}\" cannot be written: the name is taken", tensor.name);
    header[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((kAlignment - (kLengthBytes + text.size()) % kAlignment) % kAlignment, ' ');

  AtomicFile file(path, system);
  const uint64_t length = text.size();
  file.write({reinterpret_cast<const char*>(&length), sizeof(length)});
  file.write(text);
  for (const auto& tensor : tensors) file.write(tensor.bytes);
  file.commit();
}

}  // namespace residual::model
