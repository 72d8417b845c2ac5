// residual: the command. What needs LibTorch is run by residual-train, HTTP by residual-serve.

#include "base/partial_files.h"
#include "cli/command.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "cli/serve.h"
#include "cli/train.h"

namespace residual::cli {
namespace {

constexpr const char* kGetTrain =
    "Translating needs no LibTorch, but training does: install the package residual-train, or "
    "libtorch-dev and build with -DRESIDUAL_TRAIN=ON";
constexpr const char* kGetServe =
    "Install the package residual-serve, or libcpp-httplib-dev and prometheus-cpp-dev and build "
    "with -DRESIDUAL_SERVE=ON";

void add_commands(CLI::App& root, char** argv) {
  add_fetch(root);
  add_prepare(root);
  add_corpus(root);
  add_normalize(root);
  add_tokenize(root);
  add_detokenize(root);
  add_bpe(root);
  add_sentencepiece(root);
  add_vocabulary(root);
  add_shortlist(root);
  add_score(root);
  add_schemes(root);
  add_import_fairseq(root);
  add_import_marian(root);
  add_export(root);
  add_average(root);
  add_info(root);
  add_verify(root);
  add_train(root, [argv](const TrainCommand&) { run_beside("residual-train", kGetTrain, argv); });
  add_probe(root, [argv](const ProbeCommand&) { run_beside("residual-train", kGetTrain, argv); });
  add_study(root);
  add_translate(root);
  add_evaluate(root);
  add_score_pairs(root);
  add_serve(root, [argv](const ServeCommand&) { run_beside("residual-serve", kGetServe, argv); });
  add_doctor(root);
  add_completions(root);
  add_share(root);
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  residual::remove_partial_files_on_signals();
  return residual::cli::run_program(
      argc, argv, [argv](CLI::App& root) { residual::cli::add_commands(root, argv); });
}
