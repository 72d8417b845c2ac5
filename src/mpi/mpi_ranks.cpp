// residual-mpi.so: the ranks of a run by MPI. residual-train loads it only with --distributed, so
// that it needs no MPI itself.

#include <mpi.h>

#include <deque>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/version.h"
#include "train/ranks/ranks.h"

namespace residual::mpi {
namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("{}: {}", what, std::string(text, static_cast<size_t>(length)));
}

class MpiRanks final : public train::Ranks {
 public:
  MpiRanks() {
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    require(level >= MPI_THREAD_FUNNELED, "this MPI does not allow other threads beside its own");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  ~MpiRanks() override {
    if (has_given_up_) return;
    for (auto& entry : transfers_) {  // receives of messages that nobody will send
      if (entry.request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&entry.request);
      MPI_Request_free(&entry.request);
    }
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    const Transfer made = make();
    check(MPI_Isend(bytes.data(), count(bytes.size()), MPI_BYTE, to, channel, MPI_COMM_WORLD,
                    &transfers_[made].request),
          "MPI_Isend");
    return made;
  }

  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    const Transfer made = make();
    check(MPI_Irecv(bytes.data(), count(bytes.size()), MPI_BYTE, from, channel, MPI_COMM_WORLD,
                    &transfers_[made].request),
          "MPI_Irecv");
    return made;
  }

  Transfer gather(std::span<std::byte> all, std::span<const size_t> ends) override {
    const Transfer made = make();
    Entry& entry = transfers_[made];
    size_t begin = 0;
    for (const size_t end : ends) {
      entry.counts.push_back(count(end - begin));
      entry.places.push_back(count(begin));
      begin = end;
    }
    check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all.data(), entry.counts.data(),
                          entry.places.data(), MPI_BYTE, MPI_COMM_WORLD, &entry.request),
          "MPI_Iallgatherv");
    return made;
  }

  Transfer spread(std::span<std::byte> bytes) override {
    const Transfer made = make();
    check(MPI_Ibcast(bytes.data(), count(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD,
                     &transfers_[made].request),
          "MPI_Ibcast");
    return made;
  }

  bool done(Transfer transfer) override {
    Entry& entry = transfers_[transfer];
    int is_done = 0;
    check(MPI_Test(&entry.request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done == 0) return false;
    entry.counts.clear();
    entry.places.clear();
    free_.push_back(transfer);
    return true;
  }

  void give_up() override { has_given_up_ = true; }

 private:
  struct Entry {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<int> counts = {}, places = {};  // MPI reads them until the transfer is done
  };

  static int count(size_t bytes) {
    require(bytes <= size_t{1} << 30, "a transfer of {} bytes exceeds MPI's counts", bytes);
    return static_cast<int>(bytes);
  }

  Transfer make() {
    if (free_.empty()) {
      transfers_.emplace_back();
      return transfers_.size() - 1;
    }
    const Transfer made = free_.back();
    free_.pop_back();
    return made;
  }

  int rank_ = 0, size_ = 1;
  bool has_given_up_ = false;
  std::deque<Entry> transfers_;  // requests under way keep their addresses
  std::vector<Transfer> free_;
};

}  // namespace
}  // namespace residual::mpi

extern "C" {

const char* residual_ranks_version() {
  static const std::string text = fmt::format("{} {}", residual::version(), residual::commit());
  return text.c_str();
}

residual::train::Ranks* residual_open_ranks() { return new residual::mpi::MpiRanks(); }

}  // extern "C"
