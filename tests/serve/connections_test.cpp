#include "serve/connections.h"

#include <gtest/gtest.h>

namespace residual::serve {
namespace {

struct Client : Connections::Member {
  bool is_evicted = false, is_stopped = false;
  void evict() override { is_evicted = true; }
  void stop() override { is_stopped = true; }
};

TEST(Connections, EvictWhoHasWaitedForLongest) {
  prometheus::Gauge gauge;
  Connections connections(3, gauge);
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<Connections::Place> places;
  const auto enter = [&] {
    clients.push_back(std::make_shared<Client>());
    places.push_back(connections.enter(clients.back()));
  };
  for (int i = 0; i < 3; ++i) {
    connections.make_room();
    enter();
    EXPECT_FALSE(clients.back()->is_evicted);
  }
  connections.work(places[0]);
  connections.work(places[1]);
  connections.wait(places[1]);  // after the third
  connections.make_room();
  EXPECT_TRUE(clients[2]->is_evicted);
  enter();
  connections.make_room();
  EXPECT_TRUE(clients[1]->is_evicted);
  EXPECT_FALSE(clients[0]->is_evicted);
  EXPECT_EQ(gauge.Value(), 4);  // until they leave
  for (const auto place : places) connections.leave(place);
  EXPECT_EQ(gauge.Value(), 0);
}

TEST(Connections, AreOverTheirLimitWhenAllRequestsAreBeingAnswered) {
  prometheus::Gauge gauge;
  Connections connections(1, gauge);
  const auto client = std::make_shared<Client>();
  const auto place = connections.enter(client);
  connections.work(place);
  connections.make_room();
  EXPECT_FALSE(client->is_evicted);
  EXPECT_FALSE(connections.is_over());
  const auto next = connections.enter(client);
  EXPECT_TRUE(connections.is_over());
  connections.stop_all();
  EXPECT_TRUE(client->is_stopped);
  connections.leave(place);
  EXPECT_FALSE(connections.is_over());
  connections.leave(next);
}

// A connection that was evicted may have received its request just before.
TEST(Connections, TakeBackWhoHasARequestAfterAll) {
  prometheus::Gauge gauge;
  Connections connections(1, gauge);
  const auto client = std::make_shared<Client>();
  const auto place = connections.enter(client);
  connections.make_room();
  const auto next = connections.enter(client);
  EXPECT_FALSE(connections.is_over());
  connections.work(place);
  EXPECT_TRUE(connections.is_over());
  connections.leave(place);
  connections.leave(next);
}

}  // namespace
}  // namespace residual::serve
