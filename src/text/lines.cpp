#include "text/lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "text/unicode.h"

namespace residual::text {
namespace {

// Large enough that a block's work dwarfs handing it over, small enough for the caches.
constexpr size_t kReadBytes = 256 << 10;

struct Transformed {
  std::string text;
  uint64_t bytes_read;
};

}  // namespace

LineReader::LineReader(const fs::path& path, Invalid invalid)
    : name_(path == "-" ? "standard input" : path.string()),
      invalid_(invalid),
      file_(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
  const auto close_all = [this] {
    const int code = errno;
    if (file_ >= 0) ::close(file_);
    if (wake_ >= 0) ::close(wake_);
    errno = code;
  };
  struct stat status {};
  if (file_ < 0 || wake_ < 0 || ::fstat(file_, &status) != 0) {
    close_all();
    fail_errno(name_, "cannot open");
  }
  if (S_ISDIR(status.st_mode)) {
    close_all();
    fail("{}: is a directory, not a text file", name_);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<uint64_t>(status.st_size);
}

LineReader::~LineReader() {
  ::close(file_);
  ::close(wake_);
}

void LineReader::interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_, &one, sizeof(one));
}

std::optional<LineBlock> LineReader::next() {
  // Whole lines are there only if block() has put them back.
  if (rest_.find('\n') != std::string::npos) return block(std::exchange(rest_, {}));
  while (!ended_) {
    std::array<pollfd, 2> wait{{{file_, POLLIN, 0}, {wake_, POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) continue;
    if (wait[1].revents != 0) return std::nullopt;

    const size_t kept = rest_.size();
    rest_.resize(kept + kReadBytes);
    const ssize_t n = ::read(file_, rest_.data() + kept, rest_.size() - kept);
    if (n < 0 && errno == EINTR) {
      rest_.resize(kept);
      continue;
    }
    if (n < 0) fail_errno(name_, "cannot read");
    rest_.resize(kept + static_cast<size_t>(n));
    read_ += static_cast<size_t>(n);
    if (n == 0) {
      ended_ = true;
      if (rest_.empty()) return std::nullopt;
      rest_ += '\n';
      return block(std::exchange(rest_, {}));
    }
    const size_t newline = std::string_view(rest_).substr(kept).rfind('\n');
    if (newline == std::string_view::npos) continue;
    std::string rest = rest_.substr(kept + newline + 1);
    rest_.resize(kept + newline + 1);
    std::swap(rest, rest_);
    return block(std::move(rest));
  }
  return std::nullopt;
}

std::optional<LineBlock> LineReader::block(std::string bytes) {
  if (line_ == 1 && bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  const size_t bad = find_invalid_utf8(bytes);
  if (bad != std::string_view::npos && invalid_ == Invalid::replace) {
    bytes = replace_invalid_utf8(bytes);
  } else if (bad != std::string_view::npos) {
    const size_t start = bytes.rfind('\n', bad) + 1;  // npos + 1 is 0
    require(start > 0,
            "{}:{}: byte {} of the line (0x{:02x}) is not valid UTF-8; convert the file or, if "
            "the command has it, pass --replace-invalid to replace it with U+FFFD",
            name_, line_, bad + 1, static_cast<unsigned char>(bytes[bad]));
    // First those before it; the error comes when they have been taken.
    rest_.insert(0, bytes, start);
    bytes.resize(start);
  }
  LineBlock out{.bytes = std::move(bytes), .first_line = line_, .bytes_read = read_};
  line_ += static_cast<uint64_t>(std::count(out.bytes.begin(), out.bytes.end(), '\n'));
  return out;
}

std::optional<std::string> LineCursor::next() {
  while (!block_ || at_ == block_->bytes.size()) {
    block_ = reader_.next();
    at_ = 0;
    if (!block_) return std::nullopt;
  }
  const size_t end = block_->bytes.find('\n', at_);
  std::string line = block_->bytes.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

LineWriter::LineWriter(const fs::path& path) {
  if (path != "-") file_ = std::make_unique<AtomicFile>(path);
}

void LineWriter::write(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
  } else {
    FileSystem::real().write(STDOUT_FILENO, "standard output", bytes);
  }
}

void LineWriter::commit() {
  if (file_) file_->commit();
}

void for_each_line(const fs::path& path, Invalid invalid,
                   const std::function<void(std::string_view, uint64_t)>& body) {
  LineReader reader(path, invalid);
  while (const auto block = reader.next()) for_each_line(*block, body);
}

void transform_lines(const TransformLines& files,
                     const std::function<LineTransform()>& make_transform) {
  LineReader reader(files.input, files.invalid);
  LineWriter output(files.output);
  std::optional<Progress> progress;
  if (!files.progress.empty() && reader.size() > 0) {
    progress.emplace(files.progress, reader.size(), "bytes");
  }
  uint64_t shown = 0;

  OrderedPipeline<LineBlock, Transformed> pipeline;
  pipeline.produce = [&] { return reader.next(); };
  pipeline.stop = [&] { reader.interrupt(); };
  pipeline.make_worker = [&] {
    return [&reader, transform = make_transform()](const LineBlock& block) {
      Transformed out{.bytes_read = block.bytes_read};
      out.text.reserve(block.bytes.size() * 2);
      for_each_line(block, [&](std::string_view line, uint64_t number) {
        try {
          transform(line, out.text);
        } catch (const Error& error) {
          fail("{}:{}: {}", reader.name(), number, error.what());
        }
        out.text += '\n';
      });
      return out;
    };
  };
  pipeline.consume = [&](const Transformed& out) {
    output.write(out.text);
    if (progress) progress->add(out.bytes_read - shown);
    shown = out.bytes_read;
  };
  pipeline.run(thread_count());
  output.commit();
  if (progress) progress->finish();
}

}  // namespace residual::text
