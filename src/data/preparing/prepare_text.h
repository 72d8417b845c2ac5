#pragma once

#include "data/prepare.h"

// Preparation of running text, for language and masked models.
namespace residual::data {

// As prepare(), for a recipe with a language instead of pairs. Documents are separated by empty
// lines. Their pieces, each document's followed by </s>, run on from window to window. A window is
// the target of a pair whose source is </s> alone.
Manifest prepare_text(const Recipe& recipe, const PrepareOptions& options);

}  // namespace residual::data
