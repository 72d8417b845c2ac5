#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "serve/message.h"

namespace residual::serve {

// API keys. A file has one key a line, of which it knows only the SHA-256:
//
//   alice  sha256:9f86d081...  requests=600 characters=200000
//
// The limits count per minute; without one, the key has no such limit. Empty lines and lines that
// begin with # are ignored.
class Keys {
 public:
  using Clock = std::chrono::steady_clock;

  // Parses a file called `name`. Errors give the line.
  Keys(std::string_view text, const std::string& name);

  // The place of a key, or nothing if it is unknown. Takes the same time for all keys.
  std::optional<size_t> find(std::string_view key) const;

  // Counts a request with so many characters. Returns the refusal if a limit is exceeded.
  std::optional<Answer> take(size_t place, int64_t characters,
                             Clock::time_point now = Clock::now());

  // Takes over how much of their limits the keys of `old`, by name, have used.
  void inherit(const Keys& old);

 private:
  using Hash = std::array<unsigned char, 32>;

  // A bucket that holds what one minute allows, and fills steadily. 0: no limit.
  struct Bucket {
    double limit = 0, left = 0;
    Clock::time_point filled = {};

    void fill(Clock::time_point now);
    double seconds_until(double amount) const;
  };
  struct Key {
    std::string name;
    Hash hash;
    Bucket requests, characters;
  };

  static Key parse(std::string_view line);

  std::vector<Key> keys_;
  mutable std::mutex mutex_;  // of the buckets
};

// The keys of a file that may be read again. Without a file, no request needs a key.
class KeyRing {
 public:
  explicit KeyRing(fs::path file);

  bool needs_key() const { return !file_.empty(); }
  // Reads the file again. On an Error, the present keys stay.
  void reload();

  // Refuses a request whose headers give an unknown key. Its body may still give one.
  std::optional<Answer> refuse(const Request& head) const;
  // Counts a request with so many characters against its key, from its headers or else from its
  // body. Throws a Refusal.
  void take(const Request& request, const std::string& body_key, int64_t characters) const;

 private:
  std::shared_ptr<Keys> keys() const;

  fs::path file_;
  mutable std::mutex mutex_;  // of keys_
  std::shared_ptr<Keys> keys_;
};

struct NewKey {
  std::string key;   // what the client gives
  std::string line;  // of the file
};
// Makes a random key. Throws an Error if the name cannot be in a file.
NewKey new_key(const std::string& name);

// The key that a request's headers give: "Authorization: Bearer KEY" or "X-API-Key: KEY"; or
// nothing.
std::string key_of(const Request& request);

}  // namespace residual::serve
