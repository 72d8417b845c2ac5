#include "cli/command.h"
namespace residual::cli {
void add_completions(CLI::App& root) { (void)root; }
}  // namespace residual::cli
