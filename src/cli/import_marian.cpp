// residual import-marian: a model directory from a model that Marian trained.

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/model_output.h"
#include "interop/marian.h"

namespace residual::cli {
namespace {

struct Options {
  interop::MarianImport import;
  ModelOutput output;
  std::vector<fs::path> vocabularies, pieces;  // one for both sides, or one each
};

// A directory of Hugging Face's brings what an archive of Marian's needs to be told.
void check_usage(const Options& o) {
  require(fs::exists(o.import.weights), "{}: does not exist", o.import.weights.string());
  const bool has_many = interop::has_many_targets(o.import);
  if (has_many && !o.import.target_language.empty()) {
    throw CLI::ValidationError("--target-language: the tags name the languages, if several");
  }
  if (fs::is_directory(o.import.weights)) {
    const bool has_pieces = !o.pieces.empty();
    if (!o.vocabularies.empty() || has_pieces) {
      throw CLI::ValidationError(fmt::format("{}: {} is a directory, which brings its own",
                                             has_pieces ? "--sentencepiece" : "--vocabulary",
                                             o.import.weights.string()));
    }
    return;
  }
  if (o.vocabularies.empty()) throw CLI::RequiredError("--vocabulary");
  if (o.import.source_language.empty()) throw CLI::RequiredError("--source-language");
  if (!has_many && o.import.target_language.empty()) {
    throw CLI::RequiredError("--target-language");
  }
}

void run(Options o) {
  check_usage(o);
  o.output.check();
  auto& import = o.import;
  if (!o.vocabularies.empty()) {
    import.source_vocabulary = o.vocabularies.front();
    import.target_vocabulary = o.vocabularies.back();
  }
  if (!o.pieces.empty()) {
    import.source_pieces = o.pieces.front();
    import.target_pieces = o.pieces.back();
  }
  const auto made = interop::import_marian(import, o.output.path);
  print_import(o.output.path, made);
}

}  // namespace

void add_import_marian(CLI::App& root) {
  CLI::App* command = add_command(
      root, "import-marian", "Make a model directory of a model that Marian trained",
      {"# one of OPUS-MT's, as Hugging Face keeps it",
       "residual import-marian opus-mt-en-de --output models/opus-en-de",
       "# ... and as its archive holds it",
       "residual import-marian opus.spm32k-spm32k.transformer-align.model1.npz \\",
       "  --vocabulary opus.spm32k-spm32k.vocab.yml --sentencepiece source.spm target.spm \\",
       "  --source-language en --target-language de --output models/opus-en-de",
       "echo 'Good morning.' | residual translate --model models/opus-en-de"});
  auto options = std::make_shared<Options>();
  auto& import = options->import;
  const std::string files = "Input and output", text = "Text";
  command
      ->add_option("weights", import.weights,
                   "the model: .npz, or a directory of Hugging Face's (config.json, "
                   "model.safetensors, vocab.json, source.spm, target.spm)")
      ->required()
      ->type_name("MODEL")
      ->group(files);
  options->output.add_to(*command, "DIR", files);
  command
      ->add_option(
          "--vocabulary", options->vocabularies,
          "of an .npz: .yml, .json, .vocab or .spm; one for both sides, or source and target")
      ->expected(1, 2)
      ->type_name("FILE")
      ->group(text);
  command
      ->add_option("--sentencepiece", options->pieces,
                   "SentencePiece models, if the vocabularies are none: one, or source and target")
      ->expected(1, 2)
      ->type_name("FILE")
      ->group(text);
  command
      ->add_option("--source-language", import.source_language,
                   "of the text, like en; unless the directory says it")
      ->type_name("LANG")
      ->group(text);
  command->add_option("--target-language", import.target_language, "of the translations; likewise")
      ->type_name("LANG")
      ->group(text);
  command
      ->add_option("--tag", import.source_tags,
                   "symbol to put before every source, like >>deu<<, for models of many languages; "
                   "of several, or of all, each is a direction")
      ->type_name("SYMBOL")
      ->group(text);
  command
      ->add_flag("--normalize", import.normalize_punctuation,
                 "normalise punctuation before segmentation")
      ->group(text);
  command
      ->add_option("--max-positions", import.max_positions,
                   "longest sentence, </s> counted; the directory's own or 1024 unless given")
      ->check(positive())
      ->type_name("N")
      ->group(text);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
