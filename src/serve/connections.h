#pragma once

#include <prometheus/gauge.h>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace residual::serve {

// The open connections and their limit. When they are full, a new client takes the place of the one
// that has been idle, sending a request or reading an answer for longest: slow clients cannot keep
// others out.
class Connections {
 public:
  class Member {
   public:
    virtual ~Member() = default;
    // From any thread. evict() closes the connection unless its request is being answered; stop()
    // closes it after that.
    virtual void evict() = 0;
    virtual void stop() = 0;
  };

 private:
  struct Entry;
  using List = std::list<Entry>;
  struct Entry {
    std::weak_ptr<Member> member;
    List* list;
  };

 public:
  using Place = List::iterator;

  Connections(int64_t limit, prometheus::Gauge& gauge) : limit_(limit), gauge_(gauge) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Makes room for one more, unless the requests of all are being answered.
  void make_room();
  // Whether there are more than the limit: the last ones may have only what takes no time.
  bool is_over() const;

  // A connection enters, waits for its client, works on a request, waits again, and leaves.
  Place enter(std::weak_ptr<Member> member);
  void wait(Place place) { move(place, waiting_); }
  void work(Place place) { move(place, working_); }
  void leave(Place place);

  void stop_all();

 private:
  void move(Place place, List& to);
  int64_t count() const { return static_cast<int64_t>(waiting_.size() + working_.size()); }

  const int64_t limit_;
  prometheus::Gauge& gauge_;
  mutable std::mutex mutex_;
  List waiting_, working_, evicted_;  // those that have waited for longest first
};

}  // namespace residual::serve
