#pragma once

#include <any>
#include <string>
#include <vector>

#include "base/config.h"

// The scheme of a model, and what a scheme says about itself.
namespace residual::schemes {

// The table [model.residual].
struct Choice {
  std::string name = "resi-dual";
  std::string variant;  // of the scheme, as its text lists them; "" is the first
  std::any options;     // the scheme's Options; empty, or another scheme's: the defaults
};

// Reads the name, then the keys of the scheme that has it. A name other than the present one
// resets variant and options. A key of another scheme is unknown unless it has its default value:
// stored configurations of older versions have the keys of all schemes.
void fields(ConfigVisitor& visit, Choice& choice);

// What `residual schemes` prints.
struct Text {
  std::string name;
  std::string paper;
  std::vector<std::string> variants;  // the first is the default; empty: there is one form
  std::vector<std::string> equations;
  std::string parameters;  // besides the blocks', for N blocks, L layers, width d
};

// One addend of the output of a scheme with several streams, for probes.
struct Part {
  std::string stream;  // its name in reports
  double weight = 1;   // in y
  Choice alone;        // a scheme whose blocks see the same, and whose output is this addend
};

// The Options of schemes that have nothing to choose, or variants alone. A member `variant` of
// Options receives the variant; the key is read for all schemes.
struct NoOptions {};
struct VariantOptions {
  std::string variant;
};
inline void fields(ConfigVisitor& /*visit*/, NoOptions& /*options*/) {}
inline void fields(ConfigVisitor& /*visit*/, VariantOptions& /*options*/) {}

}  // namespace residual::schemes
