#include "run/events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "support/temporary.h"

namespace residual::run {
namespace {

// RFC 3720, appendix B.4, and the value every table of check sums gives for "123456789".
TEST(Crc32c, HasThePublishedValues) {
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(ascending), 0x46DD794Eu);
  EXPECT_EQ(crc32c(std::string(ascending.rbegin(), ascending.rend())), 0x113FDB5Cu);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version, tag;
  float value = 0;
  int session_status = 0;
};

// Reads what comes next from a string; throws past its end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }
  std::string_view take(size_t n) {
    if (n > bytes_.size()) throw std::out_of_range("record ends early");
    const std::string_view out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view message() { return take(varint()); }

 private:
  std::string_view bytes_;
};

// Field keys are written as protoc would print them: number << 3 | wire type.
Event decode(std::string_view bytes) {
  Event event;
  for (Reader in(bytes); !in.done();) {
    const uint64_t key = in.varint();
    if (key == (1 << 3 | 1)) {
      event.wall_time = in.number<double>();
    } else if (key == (2 << 3 | 0)) {
      event.step = static_cast<int64_t>(in.varint());
    } else if (key == (3 << 3 | 2)) {
      event.file_version = in.message();
    } else if (key == (7 << 3 | 2)) {
      Reader log(in.message());
      EXPECT_EQ(log.varint(), 1u << 3 | 0u);
      event.session_status = static_cast<int>(log.varint());
    } else if (key == (5 << 3 | 2)) {
      Reader summary(in.message());
      EXPECT_EQ(summary.varint(), 1u << 3 | 2u);
      Reader value(summary.message());
      EXPECT_EQ(value.varint(), 1u << 3 | 2u);
      event.tag = value.message();
      EXPECT_EQ(value.varint(), 2u << 3 | 5u);
      event.value = value.number<float>();
      EXPECT_TRUE(value.done() && summary.done());
    } else {
      ADD_FAILURE() << "unexpected field " << key;
      break;
    }
  }
  return event;
}

std::vector<Event> read_events(const fs::path& path) {
  const auto masked = [](std::string_view bytes) {
    const uint32_t crc = crc32c(bytes);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
  };
  const std::string file = read_file(path);
  std::vector<Event> events;
  for (Reader in(file); !in.done();) {
    const std::string_view length = in.take(8);
    EXPECT_EQ(in.number<uint32_t>(), masked(length));
    const std::string_view event = in.take(Reader(length).number<uint64_t>());
    EXPECT_EQ(in.number<uint32_t>(), masked(event));
    events.push_back(decode(event));
  }
  return events;
}

TEST(EventFile, HoldsItsVersionAndThenEveryScalar) {
  const test::TemporaryDirectory directory;
  EventFile file(directory.path());
  file.scalar("train/loss", 4.25F, 100, 1700000000.5);
  file.scalar("train/loss", -0.0F, int64_t{1} << 40, 1700000001);
  file.flush();
  const auto events = read_events(file.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[1].tag, "train/loss");
  EXPECT_EQ(events[1].value, 4.25F);
  EXPECT_EQ(events[1].step, 100);
  EXPECT_EQ(events[1].wall_time, 1700000000.5);
  EXPECT_EQ(events[2].step, int64_t{1} << 40);
}

TEST(EventFile, AResumedSessionStartsAtItsFirstStepInALaterFile) {
  const test::TemporaryDirectory directory;
  const EventFile first(directory.path());
  const EventFile second(directory.path(), 301);
  const EventFile third(directory.path(), 501);
  EXPECT_LT(first.path(), second.path());
  EXPECT_LT(second.path(), third.path());
}

TEST(EventFile, TellsViewersFromWhichStepOnToForget) {
  const test::TemporaryDirectory directory;
  EventFile file(directory.path(), 301);
  file.flush();
  const auto events = read_events(file.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].session_status, 1);  // SessionLog.START
  EXPECT_EQ(events[1].step, 301);
}

TEST(EventFile, WritesWhatIsBufferedWhenItGoes) {
  const test::TemporaryDirectory directory;
  fs::path path;
  {
    EventFile file(directory.path());
    file.scalar("loss", 1, 1, 0);
    path = file.path();
  }
  EXPECT_EQ(read_events(path).size(), 2u);
}

TEST(EventFile, AFullDiskIsAnErrorOfFlushOnly) {
  class FullDisk : public FileSystem {
    void write(int, const fs::path& path, std::string_view) override {
      fail("{}: cannot write: no space", path.string());
    }
  } full;
  const test::TemporaryDirectory directory;
  EventFile file(directory.path(), 0, full);
  file.scalar("loss", 1, 1, 0);
  EXPECT_THROW(file.flush(), Error);
}

}  // namespace
}  // namespace residual::run
