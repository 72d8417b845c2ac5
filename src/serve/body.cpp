#include "serve/body.h"

#include <boost/beast/core/string.hpp>

#include <memory>
#include <string>
#include <utility>

#include "serve/encoding.h"
#include "serve/limits.h"

namespace residual::serve {

void unpack(Request& request, int64_t most) {
  const std::string encoding = request.header(boost::beast::http::field::content_encoding);
  if (encoding.empty() || boost::beast::iequals(encoding, "identity")) return;
  auto text = gunzip(request.body, static_cast<size_t>(most));
  if (!text) throw Refusal(too_large(most));
  const auto room = std::static_pointer_cast<BodyMemory::Room>(request.room);
  if (room && !room->grow(static_cast<int64_t>(text->size()))) {
    throw Refusal(retry_answer(503, "overloaded: large requests are waiting; try again later", 1));
  }
  request.body = std::move(*text);
}

}  // namespace residual::serve
