#pragma once

#include <cstdint>

#include "serve/message.h"

namespace residual::serve {

// Replaces a compressed body by its text, of at most `most` bytes, or throws a Refusal.
void unpack(Request& request, int64_t most);

}  // namespace residual::serve
