#include "interop/npz.h"

#include <charconv>
#include <cstring>

#include "base/error.h"

namespace residual::interop {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::string_view kMagic("\x93NUMPY", 6);

// Little-endian numbers and texts at places of a file that may end anywhere.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::string_view text(uint64_t at, uint64_t size) const {
    require(at <= bytes_.size() && size <= bytes_.size() - at,
            "{}: is damaged: it ends at byte {}, but needs {}", name_, bytes_.size(), at + size);
    return bytes_.substr(at, size);
  }
  uint64_t number(uint64_t at, int size) const {
    const std::string_view from = text(at, static_cast<uint64_t>(size));
    uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[i]);
    return value;
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const std::string& name_;
};

// Where the list of members begins: told by a record at the end, before a comment of any length.
uint64_t find_directory(const Reader& file, const std::string& name, uint64_t& members) {
  constexpr uint64_t kRecord = 22, kLongestComment = 0xFFFF;
  const uint64_t last = file.size() < kRecord ? 0 : file.size() - kRecord;
  for (uint64_t back = 0; file.size() >= kRecord && back <= std::min(last, kLongestComment);
       ++back) {
    const uint64_t at = last - back;
    if (file.number(at, 4) != 0x06054b50) continue;
    members = file.number(at + 10, 2);
    const uint64_t begin = file.number(at + 16, 4);
    require(members != 0xFFFF && begin != 0xFFFFFFFF,
            "{}: is an archive of more than 4 GB, which this version does not read", name);
    return begin;
  }
  fail("{}: is not a NumPy archive (.npz)", name);
}

// The text after "'key': " up to what ends it.
std::string_view field(std::string_view header, std::string_view key, char end) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(at + key.size());
  return rest.substr(0, rest.find(end));
}

std::vector<int64_t> parse_shape(std::string_view text, const std::string& where) {
  std::vector<int64_t> shape;
  while (!text.empty()) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const bool fits = error == std::errc() && extent >= 0 && extent <= int64_t{1} << 40;
    require(fits, "{}: is damaged: \"{}\" is not a shape", where, text);
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const size_t next = text.find_first_not_of(", ");
    text.remove_prefix(std::min(next, text.size()));
  }
  return shape;
}

int64_t width_of(std::string_view dtype, const std::string& where) {
  const bool known = dtype.size() == 3 &&
                     (dtype[2] == '1' || dtype[2] == '2' || dtype[2] == '4' || dtype[2] == '8');
  require(known, "{}: has elements of type \"{}\", which this version does not read", where, dtype);
  return dtype[2] - '0';
}

// A .npy file: magic, version, length of the header, header (a Python dictionary), elements.
NpzArray parse_array(std::string_view bytes, const std::string& where) {
  const Reader file(bytes, where);
  require(file.text(0, kMagic.size()) == kMagic, "{}: is not a NumPy array", where);
  const bool is_old = file.number(6, 1) == 1;
  const uint64_t begin = is_old ? 10 : 12;
  const uint64_t length = file.number(8, is_old ? 2 : 4);
  const std::string_view header = file.text(begin, length);
  NpzArray made{.dtype = std::string(field(header, "'descr': '", '\'')),
                .shape = parse_shape(field(header, "'shape': (", ')'), where),
                .bytes = bytes.substr(begin + length)};
  require(header.find("'fortran_order': False") != std::string_view::npos,
          "{}: is stored column by column, which this version does not read", where);
  int64_t size = width_of(made.dtype, where);
  for (const int64_t extent : made.shape) {
    require(!__builtin_mul_overflow(size, extent, &size), "{}: is damaged: its shape is too large",
            where);
  }
  require(static_cast<uint64_t>(size) == made.bytes.size(),
          "{}: is damaged: it has {} bytes of elements, expected {}", where, made.bytes.size(),
          size);
  return made;
}

}  // namespace

int64_t NpzArray::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

std::vector<float> NpzArray::to_float() const {
  std::vector<float> values(static_cast<size_t>(size()));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Npz Npz::open(const fs::path& path) {
  Npz made(path);
  const Reader file(made.file_.bytes(), made.name_);
  uint64_t members = 0;
  uint64_t at = find_directory(file, made.name_, members);
  for (; members > 0; --members) {
    require(file.number(at, 4) == 0x02014b50, "{}: is damaged: its list of members is malformed",
            made.name_);
    const uint64_t stored = file.number(at + 20, 4), size = file.number(at + 24, 4);
    const uint64_t name_size = file.number(at + 28, 2);
    std::string name(file.text(at + 46, name_size));
    const std::string where = fmt::format("{}: {}", made.name_, name);
    require(file.number(at + 10, 2) == 0 && stored == size,
            "{}: is compressed; store the archive without compression (numpy.savez)", where);
    const uint64_t local = file.number(at + 42, 4);
    require(file.number(local, 4) == 0x04034b50, "{}: is damaged: its header is malformed", where);
    const uint64_t begin = local + 30 + file.number(local + 26, 2) + file.number(local + 28, 2);
    require(name.ends_with(kSuffix), "{}: is not a NumPy array", where);
    name.resize(name.size() - kSuffix.size());
    made.arrays_.insert_or_assign(std::move(name), parse_array(file.text(begin, size), where));
    at += 46 + name_size + file.number(at + 30, 2) + file.number(at + 32, 2);
  }
  return made;
}

const NpzArray& Npz::at(const std::string& array) const {
  const auto found = arrays_.find(array);
  require(found != arrays_.end(), "{}: has no array {}", name_, array);
  return found->second;
}

}  // namespace residual::interop
