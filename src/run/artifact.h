#pragma once

#include <nlohmann/json_fwd.hpp>
#include "base/files.h"

// What lies at a path, told from what is there: for `residual info` and `residual verify`.
namespace residual::run {

enum class Artifact { model, bundle, run, prepared, checkpoint, corpus, tensors, fairseq };

const char* name_of(Artifact artifact);  // "model directory"

// An Error if it is none of them.
Artifact artifact_at(const fs::path& path);

// All that is known of it without reading it whole, ready to be printed.
nlohmann::ordered_json describe(const fs::path& path);

}  // namespace residual::run
