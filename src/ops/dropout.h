#pragma once

#include <cstdint>

#include "ops/segments.h"
#include "ops/tensor.h"
#include "training_kernels/dropout.h"

// Dropout whose mask is a pure function of a key and an element's place (kernels/dropout.h), so
// that it need not be stored, resume is exact, and fused and reference operators drop the same
// elements. On a GPU the mask comes from the device's own generator, seeded with the key.
namespace residual::ops {

using kernels::Dropout;

namespace reference {

// Returns x_i m_i / (1 - p), where m_i is 0 with probability p; x itself if dropout is off.
Tensor dropout(const Tensor& x, const Dropout& dropout);

// Dropout of attention probabilities [sentence, head, query, key], padded to the longest sentence.
// Elements are numbered as if nothing were padded, so that the mask does not depend on the padding.
Tensor dropout_probabilities(const Tensor& p, const Segments& queries, const Segments& keys,
                             const Dropout& dropout);

}  // namespace reference
}  // namespace residual::ops
