#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/checksum.h"
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

// Builds tensors and metadata while it parses the header, and stops at the first error: a file
// takes no more memory than it describes and no more time than its bytes.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  HeaderReader(const std::string& file, std::string_view data,
               std::map<std::string, TensorView>& tensors,
               std::map<std::string, std::string>& metadata)
      : file_(file), data_(data), tensors_(tensors), metadata_(metadata) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_integer(int64_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return unexpected(text); }
  bool binary(json::binary_t&) override { return unexpected("bytes"); }

  bool number_unsigned(uint64_t value) override {
    if (list_ == nullptr) return unexpected(std::to_string(value));
    list_->push_back(value);
    if (list_->size() > kMaxRank) wrong(fmt::format("{} has too many numbers", field_));
    return true;
  }

  bool string(std::string& text) override {
    const bool is_field = depth_ == 2 && is_entry_;
    if (is_field && is_metadata_) {
      metadata_.emplace(field_, text);
    } else if (is_field && field_ == "dtype") {
      dtype_ = dtype_called(text);
    } else {
      unexpected('"' + text + '"');
    }
    return true;
  }

  bool key(std::string& key) override {
    const bool is_tensor = depth_ == 1;
    const bool is_known = is_tensor ? tensors_.contains(key) || (key == kMetadata && has_metadata_)
                                    : fields_.contains(key);
    require(!is_known, "{}: \"{}\" appears twice in the header", file_, key);
    if (is_tensor) {
      name_ = key;
      is_metadata_ = key == kMetadata;
      has_metadata_ |= is_metadata_;
      return true;
    }
    if (!is_metadata_ && key != "dtype" && key != "shape" && key != "data_offsets") incomplete();
    field_ = key;
    fields_.insert(key);
    return true;
  }

  bool start_object(size_t) override {
    if (depth_ == 2) unexpected("an object");
    enter();
    is_entry_ = depth_ == 2;
    fields_.clear();
    shape_.clear();
    offsets_.clear();
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !is_metadata_) add_tensor();
    --depth_;
    return true;
  }

  bool start_array(size_t) override {
    enter();
    if (depth_ == 2) is_entry_ = false;
    if (depth_ == 3 && is_entry_) {
      if (is_metadata_ || field_ == "dtype") unexpected("a list");
      list_ = field_ == "shape" ? &shape_ : &offsets_;
    }
    return true;
  }

  bool end_array() override {
    if (!is_entry_) incomplete();
    list_ = nullptr;
    --depth_;
    return true;
  }

  bool parse_error(size_t, const std::string&, const json::exception&) override {
    fail("{}: the header is not JSON; the file is damaged or not safetensors", file_);
  }

 private:
  static constexpr const char* kMetadata = "__metadata__";

  void enter() {
    require(++depth_ <= kMaxDepth, "{}: header nests deeper than {} levels", file_, kMaxDepth);
  }

  [[noreturn]] void wrong(const std::string& what) const {
    fail("{}: tensor \"{}\": {}", file_, name_, what);
  }
  [[noreturn]] void incomplete() const {
    require(!is_metadata_, "{}: __metadata__ is not an object", file_);
    fail("{}: tensor \"{}\" must have dtype, shape and data_offsets, and nothing else", file_,
         name_);
  }

  // Says what should have stood where this does.
  bool unexpected(const std::string& found) const {
    if (list_ != nullptr) wrong("expected a whole number, got " + found.substr(0, 40));
    if (depth_ == 1 || !is_entry_) incomplete();
    require(!is_metadata_, "{}: metadata \"{}\" is not a string", file_, field_);
    if (field_ == "dtype") wrong("dtype is not a string");
    wrong(field_ == "shape" ? "shape is not a list" : "data_offsets are not two numbers");
  }

  Dtype dtype_called(const std::string& name) const {
    for (const auto& row : kDtypes) {
      if (name == row.name) return row.dtype;
    }
    wrong("unknown dtype \"" + name + '"');
  }

  void add_tensor() {
    if (fields_.size() != 3) incomplete();
    if (offsets_.size() != 2) wrong("data_offsets are not two numbers");
    const uint64_t begin = offsets_[0], end = offsets_[1];
    require(begin <= end && end <= data_.size(),
            "{}: tensor \"{}\": bytes {} to {} are not within the file's {} bytes of data", file_,
            name_, begin, end, data_.size());
    auto bytes = static_cast<uint64_t>(size_of(dtype_));
    for (const uint64_t n : shape_) {
      // No product can exceed the file's size, unless a later dimension is 0.
      require(!__builtin_mul_overflow(bytes, n, &bytes) && n <= INT64_MAX,
              "{}: tensor \"{}\": shape [{}] is too large", file_, name_, fmt::join(shape_, ","));
    }
    require(bytes == end - begin,
            "{}: tensor \"{}\": {} [{}] needs {} bytes, the header gives it {}", file_, name_,
            name_of(dtype_), fmt::join(shape_, ","), bytes, end - begin);
    tensors_.emplace(name_, TensorView{.name = name_,
                                       .dtype = dtype_,
                                       .shape = {shape_.begin(), shape_.end()},
                                       .bytes = data_.substr(begin, end - begin)});
  }

  const std::string& file_;
  std::string_view data_;
  std::map<std::string, TensorView>& tensors_;
  std::map<std::string, std::string>& metadata_;

  int depth_ = 0;  // 1: in the header, 2: in a tensor's entry or the metadata, 3: in a list
  std::string name_, field_;  // the last keys of the first two
  bool is_metadata_ = false, has_metadata_ = false;
  bool is_entry_ = false;  // an object, as it should be
  std::set<std::string> fields_;
  Dtype dtype_ = Dtype::f32;
  std::vector<uint64_t> shape_, offsets_;
  std::vector<uint64_t>* list_ = nullptr;  // the one that numbers belong to
};

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

constexpr std::string_view kNoChecksum = "0000000000000000";

// Where the digits of kFileChecksum begin in a header, as our writer formats it; npos: nowhere. The
// text of other strings cannot look like the key, since their quotes are escaped.
size_t digits_at(std::string_view header) {
  const std::string key = fmt::format("\"{}\":\"", kFileChecksum);
  const size_t at = header.find(key);
  return at == header.npos ? at : at + key.size();
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
  out.bytes_ = bytes;
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

  HeaderReader reader(name, data, out.tensors_, out.metadata_);
  json::sax_parse(header, &reader);
  require(header.find_first_not_of(' ', header.rfind('}') + 1) == header.npos,
          "{}: the header is padded with other characters than spaces; the file is damaged", name);
  check_coverage(out.tensors_, data, name);
  return out;
}

SafeTensors SafeTensors::open(const fs::path& path) {
  MappedFile file(path, MappedFile::Descriptor::keep);
  SafeTensors out = parse(file.bytes(), path.string());
  out.file_ = std::move(file);
  return out;
}

std::string_view file_checksum_digits(const SafeTensors& file) {
  const auto length = element<uint64_t>(file.bytes(), 0);
  const size_t at = digits_at(file.bytes().substr(kLengthBytes, length));
  return at == std::string_view::npos ? std::string_view()
                                      : file.bytes().substr(kLengthBytes + at, kNoChecksum.size());
}

void SafeTensors::copy(std::string_view part, char* into) const noexcept {
  if (file_) {
    file_->copy(part, into);
  } else {
    std::memcpy(into, part.data(), part.size());
  }
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
  if (metadata.contains(kFileChecksum)) header["__metadata__"][kFileChecksum] = kNoChecksum;
  uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    int64_t bytes = size_of(tensor.dtype);
    bool fits = true;
    for (const int64_t n : tensor.shape) fits &= !__builtin_mul_overflow(bytes, n, &bytes);
    require(fits && bytes == static_cast<int64_t>(tensor.bytes.size()),
            "tensor \"{}\": its shape and its {} bytes do not agree", tensor.name,
            tensor.bytes.size());
    require(tensor.name != "__metadata__" && !header.contains(tensor.name),
            "tensor \"{}\" cannot be written: duplicate name", tensor.name);
    header[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((kAlignment - (kLengthBytes + text.size()) % kAlignment) % kAlignment, ' ');
  const uint64_t length = text.size();
  const auto write_all = [&](auto& to) {
    to.add({reinterpret_cast<const char*>(&length), sizeof(length)});
    to.add(text);
    for (const auto& tensor : tensors) to.add(tensor.bytes);
  };
  if (metadata.contains(kFileChecksum)) {
    BlockChecksum sum;
    write_all(sum);
    text.replace(digits_at(text), kNoChecksum.size(), to_hex(sum.value()));
  }
  AtomicFile file(path, system);
  struct Output {
    AtomicFile& file;
    void add(std::string_view bytes) { file.write(bytes); }
  } output{file};
  write_all(output);
  file.commit();
}

}  // namespace residual::model
