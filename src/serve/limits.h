#pragma once

#include <boost/beast/http/message.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "serve/message.h"

// What one client may take: bytes, time and memory.
namespace residual::serve {

struct Limits {
  int64_t max_request = 1 << 20;                // bytes of a body
  size_t max_headers = 64 << 10;                // bytes, with the request line
  size_t max_target = 8 << 10;                  // bytes of a URL
  int requests = 1000;                          // per connection
  std::chrono::milliseconds idle{60'000};       // between requests
  std::chrono::milliseconds handshake{10'000};  // of TLS
  std::chrono::milliseconds read{30'000};       // for a whole request
  std::chrono::milliseconds write{30'000};      // for a whole answer, or a part of a stream
  std::chrono::milliseconds linger{1'000};      // for an answer to be read before closing
};

// Checks the head of a request: how long its URL and body are, and how the body is coded.
std::optional<Answer> fault_of_head(const boost::beast::http::request_header<>& head,
                                    const Limits& limits);

Answer too_large(int64_t max_request);

// The memory that all bodies may take together. The first bytes of each are free, so that clients
// who send much do not keep others from sending little.
class BodyMemory {
  struct Left {
    std::mutex mutex;
    int64_t bytes;
  };

 public:
  explicit BodyMemory(int64_t limit) : left_(std::make_shared<Left>()) { left_->bytes = limit; }

  // The share of one body. It may outlive the memory: the last to let go of a request can be a
  // thread of the model, when the server is gone.
  class Room {
   public:
    explicit Room(const BodyMemory& memory) : left_(memory.left_) {}
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    // Makes room for a body of `bytes`. False: other bodies take the memory.
    bool grow(int64_t bytes);

   private:
    std::shared_ptr<Left> left_;
    int64_t taken_ = 0;
  };

  static constexpr int64_t kFree = 16 << 10;  // bytes

 private:
  std::shared_ptr<Left> left_;
};

}  // namespace residual::serve
