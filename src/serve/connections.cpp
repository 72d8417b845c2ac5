#include "serve/connections.h"

#include <utility>

namespace residual::serve {

bool Connections::is_over() const {
  const std::lock_guard lock(mutex_);
  return count() > limit_;
}

void Connections::make_room() {
  std::vector<std::shared_ptr<Member>> members;  // evicted without the lock
  {
    const std::lock_guard lock(mutex_);
    while (count() >= limit_ && !waiting_.empty()) {
      const Place oldest = waiting_.begin();
      if (auto member = oldest->member.lock()) members.push_back(std::move(member));
      oldest->list = &evicted_;
      evicted_.splice(evicted_.end(), waiting_, oldest);
    }
  }
  for (const auto& member : members) member->evict();
}

Connections::Place Connections::enter(std::weak_ptr<Member> member) {
  const std::lock_guard lock(mutex_);
  gauge_.Increment();
  return waiting_.insert(waiting_.end(), Entry{std::move(member), &waiting_});
}

void Connections::move(Place place, List& to) {
  const std::lock_guard lock(mutex_);
  List* const from = std::exchange(place->list, &to);
  to.splice(to.end(), *from, place);
}

void Connections::leave(Place place) {
  const std::lock_guard lock(mutex_);
  gauge_.Decrement();
  place->list->erase(place);
}

void Connections::stop_all() {
  std::vector<std::shared_ptr<Member>> members;
  {
    const std::lock_guard lock(mutex_);
    for (const List* list : {&waiting_, &working_, &evicted_}) {
      for (const Entry& entry : *list) {
        if (auto member = entry.member.lock()) members.push_back(std::move(member));
      }
    }
  }
  for (const auto& member : members) member->stop();
}

}  // namespace residual::serve
