#pragma once

#include <nlohmann/json_fwd.hpp>
#include "base/files.h"

// The kind of file or directory at a path, detected from its content; `residual info` and
// `residual verify` use it.
namespace residual::run {

enum class Artifact { model, bundle, run, prepared, checkpoint, corpus, tensors, fairseq, listed };

const char* name_of(Artifact artifact);  // "model directory"

// Detects the kind of `path`; throws an Error if it is not one of them.
Artifact artifact_at(const fs::path& path);

// A printable summary of everything that can be known without reading the whole file.
nlohmann::ordered_json describe(const fs::path& path);

}  // namespace residual::run
