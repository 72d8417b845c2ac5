#include "serve/encoding.h"

#include <zlib.h>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

#include "base/error.h"

namespace residual::serve {
namespace {

namespace beast = boost::beast;

constexpr int kGzip = 15 + 16;  // zlib's window bits: the largest window, in gzip's format

// Quality of an item of Accept-Encoding, from its parameters.
template <class Parameters>
double quality(const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    if (beast::iequals(name, "q")) return std::strtod(std::string(value).c_str(), nullptr);
  }
  return 1;
}

struct Inflation {
  z_stream stream{};
  Inflation() {
    if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { inflateEnd(&stream); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
};

Bytef* bytes(std::string_view text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));  // zlib only reads them
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  bool any = false;
  for (const auto& [name, parameters] :
       beast::http::ext_list({accept_encoding.data(), accept_encoding.size()})) {
    if (beast::iequals(name, "gzip")) return quality(parameters) > 0;
    if (name == "*") any = quality(parameters) > 0;
  }
  return any;
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int kLevel = 1, kMemory = 8;  // the fastest; zlib's default
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = bytes(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  require(result == Z_STREAM_END, "cannot compress {} bytes", text.size());
  return packed;
}

std::optional<std::string> gunzip(std::string_view body, size_t most) {
  Inflation inflation;
  z_stream& stream = inflation.stream;
  stream.next_in = bytes(body);
  stream.avail_in = static_cast<uInt>(body.size());
  std::string text;
  std::array<char, 16 << 10> part;
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    require(result == Z_OK || result == Z_STREAM_END,
            "Content-Encoding: the body is not valid gzip, or ends too early");
    text.append(part.data(), part.size() - stream.avail_out);
    if (text.size() > most) return std::nullopt;
    if (result == Z_STREAM_END) break;
  }
  require(stream.avail_in == 0, "Content-Encoding: {} bytes follow the gzip body", stream.avail_in);
  return text;
}

}  // namespace residual::serve
