// residual import-fairseq: converts a fairseq checkpoint to a model directory.

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/model/model_output.h"
#include "interop/fairseq_import.h"

namespace residual::cli {
namespace {

struct Options {
  interop::FairseqImport import;
  ModelOutput output;
  fs::path codes, sentencepiece;
};

// Returns the language in the name of a fairseq dictionary: dict.de.txt.
std::string language_of(const fs::path& dictionary, const char* side) {
  const std::string name = dictionary.filename().string();
  const bool usual = name.starts_with("dict.") && name.ends_with(".txt") && name.size() > 9;
  if (!usual) {
    throw CLI::RequiredError(
        fmt::format("--{}-language (the name {} does not contain it)", side, name));
  }
  return name.substr(5, name.size() - 9);
}

void run(Options o) {
  o.output.check();
  auto& import = o.import;
  if (import.source_language.empty()) {
    import.source_language = language_of(import.source_dictionary, "source");
  }
  if (import.target_dictionary.empty()) {
    if (import.target_language.empty()) {
      throw CLI::RequiredError(
          "--target-language (the name of a shared dictionary does not contain it)");
    }
    import.target_dictionary = import.source_dictionary;
  }
  if (import.target_language.empty()) {
    import.target_language = language_of(import.target_dictionary, "target");
  }
  import.segmentation.subwords = o.sentencepiece.empty() ? "bpe" : "sentencepiece";
  import.subword_model = o.sentencepiece.empty() ? o.codes : o.sentencepiece;
  const auto made = interop::import_fairseq(import, o.output.path);
  print_import(o.output.path, made);
}

void add_architecture_options(CLI::App& command, interop::FairseqOptions& o) {
  const std::string group = "Settings that the tensors do not contain";
  command
      .add_option("--scheme", o.scheme,
                  "post-ln, pre-ln or resi-dual; required if the model has final norms")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--heads", o.heads, "attention heads (default: from the file's metadata)")
      ->check(positive())
      ->type_name("N")
      ->group(group);
  command
      .add_option("--eta", o.eta,
                  "resi-dual: enc_res_input_norm_scale (default: from the metadata, or 1)")
      ->check(positive())
      ->type_name("X")
      ->group(group);
  command
      .add_option("--max-positions", o.max_positions, "longest sentence in tokens, including </s>")
      ->check(whole(2, 1 << 20))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option(
          "--prefix", o.prefix,
          "prefix of the tensor names; model., module. and param. are detected automatically")
      ->type_name("TEXT")
      ->group(group);
}

void add_text_options(CLI::App& command, Options& o) {
  const std::string group = "Text";
  command
      .add_option("--source-dictionary", o.import.source_dictionary, "fairseq's dict.<lang>.txt")
      ->required()
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--target-dictionary", o.import.target_dictionary,
                  "target dictionary (default: the source dictionary)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--source-language", o.import.source_language,
                  "source language (default: from the name of --source-dictionary)")
      ->type_name("LANG")
      ->group(group);
  command
      .add_option("--target-language", o.import.target_language,
                  "target language (default: from the name of --target-dictionary)")
      ->type_name("LANG")
      ->group(group);
  auto* codes = command.add_option("--codes", o.codes, "BPE codes of subword-nmt");
  codes->type_name("FILE")->group(group);
  command.add_option("--sentencepiece", o.sentencepiece, "SentencePiece model, instead of --codes")
      ->excludes(codes)
      ->type_name("FILE")
      ->group(group);
  auto& segmentation = o.import.segmentation;
  command.add_option("--tokenizer", segmentation.tokenizer, "moses or none")
      ->check(CLI::IsMember({"moses", "none"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag("--normalize", segmentation.normalize_punctuation,
                "normalise punctuation before tokenisation")
      ->group(group);
  command
      .add_flag("--remove-non-printing", segmentation.remove_non_printing,
                "remove non-printing characters before tokenisation")
      ->group(group);
  command.add_flag("--aggressive", segmentation.aggressive, "moses: split words at hyphens")
      ->group(group);
  command.add_flag("--lowercase", segmentation.lowercase, "lower-case after tokenisation")
      ->group(group);
}

}  // namespace

void add_import_fairseq(CLI::App& root) {
  CLI::App* command = add_command(
      root, "import-fairseq", "Convert a fairseq checkpoint to a model directory",
      {"# the paper's IWSLT model: tensors saved as safetensors, dictionaries, BPE codes",
       "residual import-fairseq checkpoint_best.safetensors --scheme resi-dual --heads 4 \\",
       "  --source-dictionary dict.de.txt --target-dictionary dict.en.txt --codes code --lowercase "
       "\\",
       "  --output models/iwslt14-de-en"});
  auto options = std::make_shared<Options>();
  command
      ->add_option("weights", options->import.weights,
                   "safetensors file with the tensors under fairseq's names")
      ->required()
      ->type_name("WEIGHTS.safetensors")
      ->group("Input and output");
  options->output.add_to(*command, "DIR", "Input and output");
  add_architecture_options(*command, options->import.architecture);
  add_text_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace residual::cli
