// residual: the main program. It runs residual-train for commands that need LibTorch and
// residual-serve for HTTP.

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/partial_files.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "cli/serve.h"
#include "cli/train.h"

namespace residual::cli {
namespace {

constexpr const char* kGetTrain =
    "Training needs LibTorch: install the package residual-train, or install libtorch-dev and "
    "build with -DRESIDUAL_TRAIN=ON";
constexpr const char* kGetServe =
    "Install the package residual-serve, or run scripts/setup and build with -DRESIDUAL_SERVE=ON";

struct Entry {
  std::string_view name;
  std::function<void(CLI::App&)> add;
};

// Adds all commands, in the order of the help. If the first argument names a command, only that
// command is added: defining the options of all commands takes longer than many a command runs.
void add_commands(CLI::App& root, int argc, char** argv) {
  const auto run_train = [argv](const auto&) { run_beside("residual-train", kGetTrain, argv); };
  const auto run_serve = [argv](const auto&) { run_beside("residual-serve", kGetServe, argv); };
  const auto train = [=](const TrainCommand& command) {
    if (command.launcher.empty()) return run_train(command);
    if (const int code = launch(command, argc, argv); code != 0) throw CLI::RuntimeError(code);
  };
  const Entry entries[] = {{"fetch", add_fetch},
                           {"prepare", add_prepare},
                           {"corpus", add_corpus},
                           {"normalize", add_normalize},
                           {"tokenize", add_tokenize},
                           {"detokenize", add_detokenize},
                           {"sentences", add_sentences},
                           {"bpe", add_bpe},
                           {"sentencepiece", add_sentencepiece},
                           {"vocabulary", add_vocabulary},
                           {"shortlist", add_shortlist},
                           {"score", add_score},
                           {"schemes", add_schemes},
                           {"import-fairseq", add_import_fairseq},
                           {"import-hugging-face", add_import_hugging_face},
                           {"import-marian", add_import_marian},
                           {"export", add_export},
                           {"average", add_average},
                           {"info", add_info},
                           {"verify", add_verify},
                           {"train", [&](CLI::App& to) { add_train(to, train); }},
                           {"probe", [&](CLI::App& to) { add_probe(to, run_train); }},
                           {"report", add_report},
                           {"study", add_study},
                           {"translate", add_translate},
                           {"evaluate", add_evaluate},
                           {"score-pairs", add_score_pairs},
                           {"generate", add_generate},
                           {"score-text", add_score_text},
                           {"fill", add_fill},
                           {"embed", add_embed},
                           {"serve", [&](CLI::App& to) { add_serve(to, run_serve); }},
                           {"doctor", add_doctor}};
  const auto* const only = std::ranges::find(entries, argc > 1 ? argv[1] : "", &Entry::name);
  if (only != std::end(entries)) return only->add(root);
  for (const auto& entry : entries) entry.add(root);
  add_completions(root);
  add_share(root);
  add_option_tables(root);
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  residual::remove_partial_files_on_signals();
  return residual::cli::run_program(
      argc, argv, [&](CLI::App& root) { residual::cli::add_commands(root, argc, argv); });
}
