// residual: the command. What needs LibTorch is run by residual-train.

#include "cli/command.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "cli/train.h"

namespace residual::cli {
namespace {

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
  add_score(root);
  add_schemes(root);
  add_import_fairseq(root);
  add_export(root);
  add_average(root);
  add_info(root);
  add_verify(root);
  add_train(root, [argv](const TrainCommand&) { run_residual_train(argv); });
  add_probe(root, [argv](const ProbeCommand&) { run_residual_train(argv); });
  add_study(root);
  add_translate(root);
  add_evaluate(root);
  add_score_pairs(root);
  add_doctor(root);
  add_completions(root);
  add_share(root);
}

}  // namespace
}  // namespace residual::cli

int main(int argc, char** argv) {
  return residual::cli::run_program(
      argc, argv, [argv](CLI::App& root) { residual::cli::add_commands(root, argv); });
}
