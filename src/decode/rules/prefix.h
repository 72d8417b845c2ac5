#pragma once

#include "decode/rules/outlook.h"

namespace residual::decode {

// Forced decoding: while a sentence's prefix lasts, its one hypothesis goes on with the prefix's
// next token, at the model's own log-probability.
//
//   y_t = prefix_t,   score(y_1 ... y_t) = score(y_1 ... y_{t-1}) + log p(y_t | y_1 ... y_{t-1}, x)
void follow_prefix(Outlook& outlook, Candidates& candidates);

}  // namespace residual::decode
