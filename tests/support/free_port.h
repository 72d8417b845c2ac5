#pragma once

#include <unistd.h>

#include "base/error.h"
#include "base/socket.h"

namespace residual::test {

// A port where nobody listens, below those that Linux gives to whoever does not ask for one: it
// stays free until it is used.
inline int free_port() {
  static int next = 20'000 + ::getpid() % 256 * 32;
  for (;; ++next) {
    try {
      Socket::listen(next);
      return next++;
    } catch (const Error&) {  // taken: the next one
    }
  }
}

}  // namespace residual::test
