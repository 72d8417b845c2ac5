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
#include "base/parallel.h"

namespace residual::train {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = 1 << 18;  // floats sent along the chain at once
constexpr int64_t kPart = 1 << 14;  // floats that one thread adds at once
constexpr auto kGreeting = 2s;      // for a new connection to introduce itself
constexpr auto kNeighbour = 30s;    // to reach a process that is known to be waiting
constexpr char kMagic[8] = {'r', 'e', 's', 'i', 'd', 'u', 'a', '1'};

// The introduction that a process sends when it connects.
struct Hello {
  char magic[sizeof kMagic];
  int32_t rank, size;
  int32_t port;  // where it waits for its successor
  char job[128], kind[256];
};

// The answer of process 0: the reason of a refusal, or the address of the predecessor.
struct Welcome {
  char magic[sizeof kMagic];
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
std::span<char> chars(std::span<float> values) { return chars(std::as_writable_bytes(values)); }

std::span<float> piece_at(std::span<float> all, size_t begin) {
  return all.subspan(begin, std::min(kPiece, all.size() - begin));
}

Hello hello(const run::Place& place, const std::string& kind, int port) {
  Hello made{
      .magic = {}, .rank = place.rank, .size = place.size, .port = port, .job = {}, .kind = {}};
  std::ranges::copy(kMagic, made.magic);
  copy(place.job, made.job);
  copy(kind, made.kind);
  return made;
}

Welcome welcome(const std::string& refusal) {
  Welcome made{};
  std::ranges::copy(kMagic, made.magic);
  copy(refusal, made.refusal);
  return made;
}

// Returns nothing if the connection is silent or does not come from a residual process.
std::optional<Hello> read_hello(const Socket& from) {
  Hello got;
  try {
    from.receive(bytes_of(got), Clock::now() + kGreeting);
    if (std::ranges::equal(got.magic, kMagic)) return got;
    log::warn("the connection from {} does not come from a residual process", from.there());
  } catch (const Error& error) {
    log::warn("the connection from {} was refused: {}", from.there(), error.what());
  }
  return {};
}

// The reason why a process cannot join; empty if it can.
std::string refusal(const Hello& own, const Hello& got, bool is_there_already) {
  if (text_of(got.job) != text_of(own.job)) return "it belongs to another job";
  if (got.size != own.size) {
    return fmt::format("it expects {} processes, this job has {}", got.size, own.size);
  }
  if (got.rank <= 0 || got.rank >= own.size)
    return fmt::format("this job has no process {}", got.rank);
  if (is_there_already) return fmt::format("process {} has already joined", got.rank);
  if (text_of(got.kind) != text_of(own.kind)) {
    return fmt::format(
        "it is ({}), process 0 is ({}); their results would differ. Use the same kind of machine "
        "and the same build",
        text_of(got.kind), text_of(own.kind));
  }
  return "";
}

bool is_this_machine(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

void send_away(const Socket& link, const Welcome& answer) {
  log::warn("a process at {} was refused: {}", link.there(), text_of(answer.refusal));
  try {
    link.send(bytes_of(answer));
  } catch (const Error&) {  // it has already disconnected
  }
}

[[noreturn]] void lost(int rank, const std::string& address, const Error& error) {
  throw PeerLost(fmt::format("process {} ({}): {}; its last output may tell the reason", rank,
                             address, error.what()));
}

// A process that has connected to process 0.
struct Visitor {
  Hello hello{};
  Socket link;

  bool is_here() const { return link.is_open(); }
};

// Waits for all processes and returns them by rank. A process that ends meanwhile may connect
// again.
std::vector<Visitor> receive_visitors(const Socket& door, const Hello& own, const run::Place& place,
                                      Socket::Time until) {
  std::vector<Visitor> visitors(static_cast<size_t>(own.size));
  const auto here = [&] { return 1 + std::ranges::count_if(visitors, &Visitor::is_here); };
  while (here() < own.size) {
    Socket link;
    try {
      link = door.accept(until);
    } catch (const Error& error) {
      fail("{} of {} processes have connected to {}:{}: {}", here(), own.size, place.host,
           place.port, error.what());
    }
    const auto got = read_hello(link);
    if (!got) continue;
    const bool is_rank = got->rank > 0 && got->rank < own.size;
    Visitor* const before = is_rank ? &visitors[static_cast<size_t>(got->rank)] : nullptr;
    const Welcome answer = welcome(refusal(own, *got, is_rank && before->is_here()));
    if (answer.refusal[0] != '\0') {
      send_away(link, answer);
    } else {
      before->hello = *got;
      before->link = std::move(link);
    }
  }
  return visitors;
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

Peers::Peers(const run::Place& place, const std::string& kind, Duration patience)
    : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  const Socket::Time until = Clock::now() + patience;
  if (leads()) {
    meet_as_first(place, kind, until);
  } else {
    meet_as_other(place, kind, until);
  }
}

// Process 0 keeps its connection to process 1, and tells every other process the address where its
// predecessor waits.
void Peers::meet_as_first(const run::Place& place, const std::string& kind, Socket::Time until) {
  const Hello own = hello(place, kind, 0);
  const Socket door = Socket::listen(place.port);
  log::info("process 0 of {} waits for the others at {}:{}", size_, place.host, place.port);
  std::vector<Visitor> visitors = receive_visitors(door, own, place, until);
  for (size_t rank = 1; rank < visitors.size(); ++rank) {
    const Socket& link = visitors[rank].link;
    Welcome answer = welcome("");
    if (rank > 1) {
      // A process on this machine may have connected from the loopback address, which other
      // machines cannot reach.
      const std::string seen = visitors[rank - 1].link.there();
      const bool inner = is_this_machine(seen) && !is_this_machine(link.there());
      copy(inner ? link.here() : seen, answer.host);
      answer.port = visitors[rank - 1].hello.port;
    }
    try {
      link.send(bytes_of(answer));
    } catch (const Error& error) {
      lost(static_cast<int>(rank), link.there(), error);
    }
  }
  after_ = Link(1, std::move(visitors[1].link));
}

void Peers::meet_as_other(const run::Place& place, const std::string& kind, Socket::Time until) {
  const Socket door = is_last() ? Socket() : Socket::listen(0);
  const Hello own = hello(place, kind, is_last() ? 0 : door.port());
  log::info("process {} of {} connects to process 0 at {}:{}", rank_, size_, place.host,
            place.port);
  before_ = Link(0, Socket::connect(place.host, place.port, until));
  before_.send(bytes_of(own));
  Welcome answer{};
  before_.receive(bytes_of(answer), until);
  require(std::ranges::equal(answer.magic, kMagic), "the server at {}:{} is not a residual process",
          place.host, place.port);
  require(answer.refusal[0] == '\0', "process 0 ({}) refused this process, {}: {}", before_.address,
          rank_, text_of(answer.refusal));
  if (rank_ > 1) {
    const Socket::Time soon = std::min(until, Clock::now() + kNeighbour);
    before_ = Link(rank_ - 1, Socket::connect(text_of(answer.host), answer.port, soon));
    before_.send(bytes_of(own));
  }
  while (!is_last()) {
    try {
      after_ = Link(rank_ + 1, door.accept(until));
    } catch (const Error& error) {
      fail("process {} has not connected to process {}: {}", rank_ + 1, rank_, error.what());
    }
    const auto got = read_hello(after_.socket);
    if (got && got->rank == rank_ + 1 && text_of(got->job) == text_of(own.job)) break;
  }
}

// Data travels along the chain and back: each process receives the elements of its predecessors,
// appends its own and sends them on; the answer brings the elements of its successors.
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

// Works piece by piece, so that sending, adding and receiving overlap. The total of a piece returns
// only after its partial sum was sent, so one buffer serves for both.
void Peers::add_in_order(std::span<const std::span<float>> own) const {
  std::atomic<size_t> handed_on = 0;
  std::mutex mutex;
  std::exception_ptr failure;  // the first exception
  const auto guarded = [&](auto work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      before_.socket.shut_down();  // wakes the other thread, which may be blocked in a receive
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

// Adds this process's gradients to the partial sums of its predecessors and sends them on; the last
// process has the totals and sends them back. `handed_on` counts elements. Floating-point addition
// commutes, so adding the received sum to own[0] gives the same bits as adding from left to right.
void Peers::hand_on(std::span<const std::span<float>> own, std::atomic<size_t>& handed_on) const {
  std::vector<float> came(rank_ > 0 ? kPiece : 0);
  for (size_t begin = 0; begin < own[0].size(); begin += kPiece) {
    const std::span<float> sum = piece_at(own[0], begin);
    std::vector<const float*> addends;
    if (rank_ > 0) {
      before_.receive(chars(std::span(came).first(sum.size())));
      addends.push_back(came.data());
    }
    for (size_t i = 1; i < own.size(); ++i) addends.push_back(own[i].data() + begin);
    parallel_for(static_cast<int64_t>(sum.size()), kPart, [&](int64_t first, int64_t end) {
      for (const float* addend : addends) {
        for (int64_t i = first; i < end; ++i) sum[i] += addend[i];
      }
    });
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
