#include "serve/keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "base/error.h"

namespace residual::serve {
namespace {

constexpr const char* kForm = "NAME sha256:HEX [requests=N] [characters=N]";
constexpr std::string_view kHash = "sha256:";

template <class Bytes>
std::string hex(const Bytes& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::array<unsigned char, SHA256_DIGEST_LENGTH> sha256(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

std::array<unsigned char, SHA256_DIGEST_LENGTH> parse_hash(std::string_view word) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  require(word.starts_with(kHash) && word.size() == kHash.size() + 2 * hash.size(),
          "expected {}, with 64 hexadecimal digits after sha256:", kForm);
  for (size_t i = 0; i < hash.size(); ++i) {
    const char* const digits = word.data() + kHash.size() + 2 * i;
    require(std::from_chars(digits, digits + 2, hash[i], 16).ptr == digits + 2,
            "sha256: not a hexadecimal digit");
  }
  return hash;
}

Answer unauthorized(const std::string& message) {
  Answer answer = error_answer(401, message);
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

int64_t parse_limit(std::string_view text, std::string_view what) {
  int64_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  require(error == std::errc() && end == text.data() + text.size() && limit > 0,
          "{}: expected a number above 0, got \"{}\"", what, text);
  return limit;
}

}  // namespace

Keys::Key Keys::parse(std::string_view line) {
  std::istringstream words{std::string(line)};
  Key key;
  std::string word;
  words >> key.name >> word;
  key.hash = parse_hash(word);
  while (words >> word) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string what = word.substr(0, equals);
    require(what == "requests" || what == "characters", "expected {}, got \"{}\"", kForm, word);
    Bucket& bucket = what == "requests" ? key.requests : key.characters;
    require(bucket.limit == 0, "{}: given twice", what);
    const std::string_view value = std::string_view(word).substr(std::min(equals + 1, word.size()));
    bucket.limit = bucket.left = static_cast<double>(parse_limit(value, what));
  }
  return key;
}

Keys::Keys(std::string_view text, const std::string& name) {
  std::set<std::string> names;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    try {
      keys_.push_back(parse(line));
      require(names.insert(keys_.back().name).second, "{} has a key already", keys_.back().name);
    } catch (const Error& error) {
      fail("{}:{}: {}", name, number, error.what());
    }
  }
  require(!keys_.empty(), "{}: has no key; `residual serve --new-api-key NAME` makes one", name);
}

std::optional<size_t> Keys::find(std::string_view key) const {
  const Hash hash = sha256(key);
  std::optional<size_t> found;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (CRYPTO_memcmp(hash.data(), keys_[i].hash.data(), hash.size()) == 0) found = i;
  }
  return found;
}

void Keys::Bucket::fill(Clock::time_point now) {
  const std::chrono::duration<double> passed = now - filled;
  left = std::min(limit, left + limit * passed.count() / 60);
  filled = now;
}

double Keys::Bucket::seconds_until(double amount) const {
  return limit == 0 || left >= amount ? 0 : (amount - left) / limit * 60;
}

std::optional<Answer> Keys::take(size_t place, int64_t characters, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Key& key = keys_[place];
  const auto amount = static_cast<double>(characters);
  if (key.characters.limit > 0 && amount > key.characters.limit) {
    return error_answer(
        413, fmt::format("the key \"{}\" allows {:.0f} characters per minute, the request has {}; "
                         "split it into several",
                         key.name, key.characters.limit, characters));
  }
  key.requests.fill(now);
  key.characters.fill(now);
  const double wait = std::max(key.requests.seconds_until(1), key.characters.seconds_until(amount));
  if (wait > 0) {
    const int seconds = static_cast<int>(std::ceil(wait));
    return retry_answer(
        429, fmt::format("the key \"{}\" has used its limit; try again in {} s", key.name, seconds),
        seconds);
  }
  key.requests.left -= 1;
  key.characters.left -= amount;
  return std::nullopt;
}

void Keys::inherit(const Keys& old) {
  const std::scoped_lock lock(mutex_, old.mutex_);
  for (Key& key : keys_) {
    const auto same = std::ranges::find(old.keys_, key.name, &Key::name);
    if (same == old.keys_.end()) continue;
    const auto inherit_from = [](Bucket& bucket, const Bucket& before) {
      if (before.limit == 0) return;
      bucket.left = std::min(bucket.limit, before.left);
      bucket.filled = before.filled;
    };
    inherit_from(key.requests, same->requests);
    inherit_from(key.characters, same->characters);
  }
}

NewKey new_key(const std::string& name) {
  require(!name.empty() && name[0] != '#' && name.find_first_of(" \t\r\n") == std::string::npos,
          "expected a name without spaces that does not begin with #, got \"{}\"", name);
  std::array<unsigned char, 32> random;
  require(RAND_bytes(random.data(), random.size()) == 1, "the system gives no random bytes");
  const std::string key = "residual-" + hex(random);
  return {key, fmt::format("{} {}{}", name, kHash, hex(sha256(key)))};
}

std::string key_of(const Request& request) {
  constexpr boost::beast::string_view kBearer = "bearer ";
  const auto given = request.headers[boost::beast::http::field::authorization];
  if (boost::beast::iequals(given.substr(0, kBearer.size()), kBearer)) {
    return std::string(given.substr(kBearer.size()));
  }
  return std::string(request.headers["X-API-Key"]);
}

KeyRing::KeyRing(fs::path file) : file_(std::move(file)) {
  if (needs_key()) reload();
}

void KeyRing::reload() {
  const auto read = std::make_shared<Keys>(read_file(file_), file_.string());
  const std::lock_guard lock(mutex_);
  if (keys_) read->inherit(*keys_);
  keys_ = read;
}

std::shared_ptr<Keys> KeyRing::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

std::optional<Answer> KeyRing::refuse(const Request& head) const {
  const std::string key = key_of(head);
  if (!needs_key() || key.empty() || keys()->find(key)) return std::nullopt;
  return unauthorized("unknown API key");
}

void KeyRing::take(const Request& request, const std::string& body_key, int64_t characters) const {
  if (!needs_key()) return;
  const std::string given = key_of(request);
  const std::string& key = given.empty() ? body_key : given;
  if (key.empty()) {
    throw Refusal(unauthorized("an API key is missing; send the header Authorization: Bearer KEY"));
  }
  const auto all = keys();
  const auto place = all->find(key);
  if (!place) throw Refusal(unauthorized("unknown API key"));
  if (auto refusal = all->take(*place, characters)) throw Refusal(std::move(*refusal));
}

}  // namespace residual::serve
