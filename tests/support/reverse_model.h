#pragma once

#include <string>

#include "support/paths.h"
#include "support/shell.h"

namespace residual::test {

// The shell commands that make the model directory `path` from tests/fixtures/fairseq: a model from
// language "ab" to "ba" that half-learnt to reverse its source, letters from a to t between spaces.
inline std::string make_reverse_model(const std::string& path,
                                      const std::string& scheme = "resi-dual",
                                      const std::string& options = "") {
  return "printf '%s 1\\n' {a..t} > letters && residual import-fairseq '" + fixtures() +
         "/fairseq/" + scheme +
         "-beam.safetensors' --source-dictionary letters --source-language ab " +
         "--target-language ba --tokenizer none " + options + " -o " + path +
         " > /dev/null && rm letters\n";
}

}  // namespace residual::test
