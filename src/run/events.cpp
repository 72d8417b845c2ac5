#include "run/events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <utility>

#include "base/error.h"

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

namespace residual::run {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

// Protocol buffers: a field is its number and wire type in one byte, then its value.
constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
// Field tags of tensorflow.Event, .Summary, .Summary.Value and .SessionLog.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kValue = 1;
constexpr int kTag = 1, kSimpleValue = 2;
constexpr int kStatus = 1, kStart = 1;

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[byte] = crc;
  }
  return table;
}

// TensorFlow stores checks rotated and shifted: a check over bytes that contain checks is weak.
uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, int field, int type) {
  out += static_cast<char>(field << 3 | type);
}

void append_bytes(std::string& out, int field, std::string_view bytes) {
  append_key(out, field, kBytes);
  append_varint(out, bytes.size());
  out += bytes;
}

std::string event(double wall_time, int64_t step, int field, std::string_view content) {
  std::string out;
  append_key(out, kWallTime, kFixed64);
  append(out, wall_time);
  append_key(out, kStep, kVarint);
  append_varint(out, static_cast<uint64_t>(step));
  append_bytes(out, field, content);
  return out;
}

double now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_1970).count();
}

// Viewers read a directory's files in the order of their names. The name begins with the time in
// seconds, which is increased if a file of that second exists.
fs::path new_file(const fs::path& directory) {
  constexpr const char* kPrefix = "events.out.tfevents.";  // TensorBoard looks for "tfevents"
  auto seconds = static_cast<int64_t>(now());
  std::string last;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) last = std::max(last, name);
  }
  std::string name;
  do {
    name = fmt::format("{}{:010}.residual", kPrefix, seconds++);
  } while (name <= last);
  return directory / name;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(const fs::path& directory, int64_t resumes_at, FileSystem& system)
    : system_(system), path_(new_file(directory)), file_(system.create(path_)) {
  add(event(now(), 0, kFileVersion, "brain.Event:2"));
  if (resumes_at > 0) {
    std::string start;
    append_key(start, kStatus, kVarint);
    append_varint(start, kStart);
    add(event(now(), resumes_at, kSessionLog, start));
  }
}

EventFile::~EventFile() {
  try {
    flush();
    system_.close(file_, path_);
  } catch (const Error&) {  // a caller that needs the error calls flush()
  }
}

void EventFile::scalar(const std::string& tag, float value, int64_t step, double wall_time) {
  std::string point;
  append_bytes(point, kTag, tag);
  append_key(point, kSimpleValue, kFixed32);
  append(point, value);
  std::string summary;
  append_bytes(summary, kValue, point);
  add(event(wall_time, step, kSummary, summary));
  if (buffer_.size() >= kBufferBytes) flush();
}

void EventFile::flush() {
  const std::string records = std::exchange(buffer_, {});  // a failed write is not retried
  system_.write(file_, path_, records);
}

void EventFile::add(std::string_view event) {
  std::string length;
  append(length, static_cast<uint64_t>(event.size()));
  buffer_ += length;
  append(buffer_, masked_crc(length));
  buffer_ += event;
  append(buffer_, masked_crc(event));
}

}  // namespace residual::run
