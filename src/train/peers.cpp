#include "train/peers.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"

namespace residual::train {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = 1 << 16;  // floats that pass along the chain at a time
constexpr auto kGreeting = 5s;      // to say who one is
constexpr char kMagic[8] = {'r', 'e', 's', 'i', 'd', 'u', 'a', '1'};

// What a process says of itself when it connects.
struct Hello {
  char magic[sizeof kMagic];
  int32_t rank, size;
  int32_t port;  // where it awaits the one after it
  char job[128], kind[256];
};

// What process 0 answers: why not, or where the process before is.
struct Welcome {
  char refusal[1024];
  char host[64];
  int32_t port;
};

template <size_t N>
void copy(const std::string& text, char (&to)[N]) {
  to[text.copy(to, N - 1)] = '\0';
}

template <size_t N>
std::string text_of(const char (&from)[N]) {
  return {from, ::strnlen(from, N)};
}

std::span<const char> bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::span<char> bytes_of(auto& value) { return {reinterpret_cast<char*>(&value), sizeof value}; }

std::span<char> chars(std::span<std::byte> bytes) {
  return {reinterpret_cast<char*>(bytes.data()), bytes.size()};
}
std::span<float> piece_at(std::span<float> all, size_t begin) {
  return all.subspan(begin, std::min(kPiece, all.size() - begin));
}

std::span<char> chars(std::span<float> values) { return chars(std::as_writable_bytes(values)); }

Hello hello(const Place& place, const std::string& kind, int port) {
  Hello made{
      .magic = {}, .rank = place.rank, .size = place.size, .port = port, .job = {}, .kind = {}};
  std::ranges::copy(kMagic, made.magic);
  copy(place.job, made.job);
  copy(kind, made.kind);
  return made;
}

// Nothing if what came is not one of ours, or silent.
std::optional<Hello> read_hello(const Socket& from) {
  Hello got;
  try {
    from.receive(bytes_of(got), Clock::now() + kGreeting);
  } catch (const Error&) {
    return {};
  }
  if (!std::ranges::equal(got.magic, kMagic)) return {};
  return got;
}

// Why a process cannot be one of these; empty if it can.
std::string refusal(const Hello& own, const Hello& got, bool is_there_already) {
  if (text_of(got.job) != text_of(own.job)) return "it belongs to another job";
  if (got.size != own.size) {
    return fmt::format("it is one of {} processes, here are {}", got.size, own.size);
  }
  if (got.rank <= 0 || got.rank >= own.size) return fmt::format("there is no {}", got.rank);
  if (is_there_already) return fmt::format("there is a process {} already", got.rank);
  if (text_of(got.kind) != text_of(own.kind)) {
    return fmt::format(
        "it is ({}), process 0 is ({}); they would compute different things. Use machines and "
        "builds that are alike",
        text_of(got.kind), text_of(own.kind));
  }
  return "";
}

bool is_this_machine(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

void send_away(const Socket& link, const Welcome& answer) {
  log::warn("a process at {} was sent away: {}", link.there(), text_of(answer.refusal));
  try {
    link.send(bytes_of(answer));
  } catch (const Error&) {  // it has left by itself
  }
}

[[noreturn]] void lost(int rank, const std::string& address, const Error& error) {
  throw PeerLost(fmt::format("process {} ({}): {}; what it printed last may say why", rank, address,
                             error.what()));
}

}  // namespace

Peers::Link::Link(int of, Socket connection)
    : rank(of), socket(std::move(connection)), address(socket.there()) {}

void Peers::Link::send(std::span<const char> bytes) const {
  try {
    socket.send(bytes);
  } catch (const Error& error) {
    lost(rank, address, error);
  }
}

void Peers::Link::receive(std::span<char> bytes, Socket::Time until) const {
  try {
    socket.receive(bytes, until);
  } catch (const Error& error) {
    lost(rank, address, error);
  }
}

Peers& Peers::alone() {
  static Peers self;
  return self;
}

Peers::Peers(const Place& place, const std::string& kind, Duration patience)
    : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  const Socket::Time until = Clock::now() + patience;
  if (leads()) {
    meet_as_first(place, kind, until);
  } else {
    meet_as_other(place, kind, until);
  }
}

// Process 0 keeps its connection with 1, and tells every other one where the one before it waits.
void Peers::meet_as_first(const Place& place, const std::string& kind, Socket::Time until) {
  const Hello own = hello(place, kind, 0);
  const Socket door = Socket::listen(place.port);
  log::info("process 0 of {} waits for the others at {}:{}", size_, place.host, place.port);
  std::vector<Link> links(static_cast<size_t>(size_));
  std::vector<std::optional<Hello>> hellos(static_cast<size_t>(size_));
  for (int here = 1; here < size_;) {
    Socket link;
    try {
      link = door.accept(until);
    } catch (const Error& error) {
      fail("{} of {} processes have come to {}:{}: {}", here, size_, place.host, place.port,
           error.what());
    }
    const auto got = read_hello(link);
    if (!got) continue;
    const auto rank = static_cast<size_t>(got->rank);
    Welcome answer{};
    const bool is_there_already = got->rank > 0 && got->rank < size_ && hellos[rank].has_value();
    copy(refusal(own, *got, is_there_already), answer.refusal);
    if (answer.refusal[0] != '\0') {
      send_away(link, answer);
      continue;
    }
    links[rank] = Link(got->rank, std::move(link));
    hellos[rank] = got;
    ++here;
  }
  for (size_t rank = 1; rank < links.size(); ++rank) {
    Welcome answer{};
    if (rank > 1) {
      // A process on this machine may have come by its inner address, which no other can reach.
      const std::string& seen = links[rank - 1].address;
      const bool inner = is_this_machine(seen) && !is_this_machine(links[rank].address);
      copy(inner ? links[rank].socket.here() : seen, answer.host);
      answer.port = hellos[rank - 1]->port;
    }
    links[rank].send(bytes_of(answer));
  }
  after_ = std::move(links[1]);
}

void Peers::meet_as_other(const Place& place, const std::string& kind, Socket::Time until) {
  const Socket door = is_last() ? Socket() : Socket::listen(0);
  const Hello own = hello(place, kind, is_last() ? 0 : door.port());
  log::info("process {} of {} looks for process 0 at {}:{}", rank_, size_, place.host, place.port);
  before_ = Link(0, Socket::connect(place.host, place.port, until));
  before_.send(bytes_of(own));
  Welcome answer{};
  before_.receive(bytes_of(answer), until);
  require(answer.refusal[0] == '\0', "process 0 ({}) does not take this process, {}: {}",
          before_.address, rank_, text_of(answer.refusal));
  if (rank_ > 1) {
    before_ = Link(rank_ - 1, Socket::connect(text_of(answer.host), answer.port, until));
    before_.send(bytes_of(own));
  }
  while (!is_last()) {
    try {
      after_ = Link(rank_ + 1, door.accept(until));
    } catch (const Error& error) {
      fail("process {} has not come to process {}: {}", rank_ + 1, rank_, error.what());
    }
    const auto got = read_hello(after_.socket);
    if (got && got->rank == rank_ + 1 && text_of(got->job) == place.job) break;
  }
}

// Along the chain and back: each process gets what the ones before it have, adds its own and hands
// it on; the last one's answer brings what the ones after have.
void Peers::complete(std::span<std::byte> all, size_t count) const {
  if (size_ == 1 || count == 0) return;
  const size_t width = all.size() / count;
  const auto elements = [&](size_t from, size_t to) {
    return chars(all.subspan(from * width, (to - from) * width));
  };
  const size_t first = this->first(count), last = end(count);
  if (rank_ > 0) before_.receive(elements(0, first));
  if (!is_last()) {
    after_.send(elements(0, last));
    after_.receive(elements(last, count));
  }
  if (rank_ > 0) before_.send(elements(first, count));
}

size_t Peers::spread_size(size_t size) const {
  uint64_t wire = size;
  spread(std::as_writable_bytes(std::span(&wire, 1)));
  return wire;
}

void Peers::spread(std::span<std::byte> bytes) const {
  if (size_ == 1) return;
  constexpr size_t kBytes = kPiece * sizeof(float);
  for (size_t begin = 0; begin < bytes.size(); begin += kBytes) {
    const auto piece = chars(bytes.subspan(begin, std::min(kBytes, bytes.size() - begin)));
    if (rank_ > 0) before_.receive(piece);
    if (!is_last()) after_.send(piece);
  }
}

void Peers::spread(std::string& text) const {
  text.resize(spread_size(text.size()));
  spread(std::as_writable_bytes(std::span(text)));
}

// Piece by piece. The sum of a piece comes back after it was handed on, so one buffer does for
// both.
void Peers::add_in_order(std::span<const std::span<float>> own) const {
  std::atomic<size_t> handed_on = 0;
  std::mutex mutex;
  std::exception_ptr failure;  // the first
  const auto guarded = [&](auto work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      before_.socket.shut_down();  // so that the other thread does not wait for ever
      after_.socket.shut_down();
      handed_on = std::numeric_limits<size_t>::max();
      handed_on.notify_one();
    }
  };
  std::thread back;
  if (!is_last()) {
    back = std::thread([&] { guarded([&] { take_back(own[0], handed_on); }); });
  }
  guarded([&] { hand_on(own, handed_on); });
  if (back.joinable()) back.join();
  if (failure) std::rethrow_exception(failure);
}

// Adds this process's to the sums that come from before, and hands them on; the last process has
// them whole and sends them back. `handed_on` counts elements.
void Peers::hand_on(std::span<const std::span<float>> own, std::atomic<size_t>& handed_on) const {
  std::vector<float> came(kPiece);
  for (size_t begin = 0; begin < own[0].size(); begin += kPiece) {
    const std::span<float> sum = piece_at(own[0], begin);
    if (rank_ > 0) {
      before_.receive(chars(std::span(came).first(sum.size())));
      std::ranges::transform(sum, came, sum.begin(), std::plus{});
    }
    for (size_t i = 1; i < own.size(); ++i) {
      std::ranges::transform(sum, piece_at(own[i], begin), sum.begin(), std::plus{});
    }
    if (!is_last()) {
      after_.send(chars(sum));
    } else if (rank_ > 0) {
      before_.send(chars(sum));
    }
    handed_on = begin + sum.size();
    handed_on.notify_one();
  }
}

void Peers::take_back(std::span<float> all, const std::atomic<size_t>& handed_on) const {
  for (size_t begin = 0; begin < all.size(); begin += kPiece) {
    for (size_t n = handed_on; n <= begin; n = handed_on) handed_on.wait(n);
    const std::span<float> sum = piece_at(all, begin);
    after_.receive(chars(sum));
    if (rank_ > 0) before_.send(chars(sum));
  }
}

}  // namespace residual::train
