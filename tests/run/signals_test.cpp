#include "run/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace residual::run {
namespace {

// In processes of their own, which the signals may end.
class Signals : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::signal(SIGHUP, SIG_DFL);  // the tests may have been started with nohup
  }
};

void wait_for_one(const StopSignals& signals) {
  while (signals.received() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool is_blocked(int signal) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return ::sigismember(&blocked, signal) == 1;
}

TEST_F(Signals, AreToldByNumber) {
  const auto receive = [](int signal) {
    const StopSignals signals;
    if (signals.received() != 0) ::_exit(1);
    ::kill(::getpid(), signal);
    wait_for_one(signals);
    ::_exit(signals.received());
  };
  EXPECT_EXIT(receive(SIGINT), testing::ExitedWithCode(SIGINT), "");
  EXPECT_EXIT(receive(SIGTERM), testing::ExitedWithCode(SIGTERM), "");
  EXPECT_EXIT(receive(SIGHUP), testing::ExitedWithCode(SIGHUP), "");
}

TEST_F(Signals, EndTheProcessAtTheSecond) {
  const auto receive_two = [] {
    const StopSignals signals;
    ::kill(::getpid(), SIGTERM);
    wait_for_one(signals);
    ::kill(::getpid(), SIGINT);
    ::pause();
  };
  EXPECT_EXIT(receive_two(), testing::ExitedWithCode(128 + SIGINT), "");
}

// The shell and the kernel may both tell of a terminal that was closed, and systemd after them.
TEST_F(Signals, OfAClosedTerminalDoNotCountAsTwo) {
  const auto close_terminal = [] {
    const StopSignals signals;
    ::kill(::getpid(), SIGHUP);
    wait_for_one(signals);
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGTERM);
    while (signals.received() != SIGTERM) std::this_thread::yield();
    ::kill(::getpid(), SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::_exit(signals.received());
  };
  EXPECT_EXIT(close_terminal(), testing::ExitedWithCode(SIGTERM), "");
}

TEST_F(Signals, OfAClosedTerminalStayIgnored) {
  const auto close_terminal = [] {
    std::signal(SIGHUP, SIG_IGN);  // as nohup does
    const StopSignals signals;
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGINT);
    wait_for_one(signals);
    ::_exit(signals.received());
  };
  EXPECT_EXIT(close_terminal(), testing::ExitedWithCode(SIGINT), "");
}

// A handler's frame would go wherever a thread's stack pointer is, and within oneDNN that is not
// always its stack.
TEST_F(Signals, InterruptNoThreadThatComputes) {
  const StopSignals signals;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_TRUE(is_blocked(signal));
    bool blocked = false;
    std::thread([&] { blocked = is_blocked(signal); }).join();
    EXPECT_TRUE(blocked);
  }
}

TEST_F(Signals, EndTheProcessAgainAfterwards) {
  const auto receive_late = [] {
    { const StopSignals signals; }
    ::kill(::getpid(), SIGTERM);
    ::pause();
  };
  EXPECT_EXIT(receive_late(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace residual::run
