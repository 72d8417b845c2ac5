// residual sentencepiece: segments raw text with the SentencePiece library.

#include <memory>

#include "cli/command.h"
#include "text/sentence_piece.h"

namespace residual::cli {
namespace {

struct TrainOptions {
  std::vector<fs::path> inputs{"-"};
  fs::path output;
  text::Invalid invalid = text::Invalid::refuse;
  text::SentencePieceTraining training;
};

void add_training_options(CLI::App& command, text::SentencePieceTraining& training) {
  const std::string group = "Learning";
  command.add_option("--model-type", training.model_type, "unigram or bpe")
      ->capture_default_str()
      ->check(CLI::IsMember({"unigram", "bpe"}))
      ->type_name("TYPE")
      ->group(group);
  command
      .add_option("--vocab-size", training.vocab_size,
                  "number of pieces, including <unk>, <s> and </s>")
      ->capture_default_str()
      ->check(whole(4, 10'000'000))
      ->type_name("N")
      ->group(group);
  command
      .add_option(
          "--character-coverage", training.character_coverage,
          "share of the text's characters that the pieces cover; other characters are <unk>")
      ->capture_default_str()
      ->check(between(0.98, 1))
      ->type_name("SHARE")
      ->group(group);
  command
      .add_option("--normalization", training.normalization,
                  "normalisation of characters before segmentation")
      ->capture_default_str()
      ->check(CLI::IsMember({"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"}))
      ->type_name("RULE")
      ->group(group);
  command
      .add_flag("--byte-fallback", training.byte_fallback,
                "encode characters without a piece as bytes")
      ->group(group);
  command
      .add_option("--user-symbols", training.user_symbols,
                  "piece that is never split or merged, such as <2de>; repeatable")
      ->allow_extra_args(false)
      ->type_name("SYMBOL")
      ->group(group);
  command
      .add_option("--input-sentences", training.input_sentences,
                  "learn from a random sample of N lines; 0: all lines")
      ->capture_default_str()
      ->check(whole(0, 1000000000))
      ->type_name("N")
      ->group(group);
  command.add_option("--max-sentence-bytes", training.max_sentence_bytes, "skip longer lines")
      ->capture_default_str()
      ->check(whole(1, 1 << 30))
      ->type_name("N")
      ->group(group);
  command.add_option("--seed", training.seed, "random seed of the sample")
      ->capture_default_str()
      ->check(whole(0, UINT32_MAX - 1))
      ->type_name("N")
      ->group(group);
}

void add_train(CLI::App& parent) {
  auto* command =
      add_command(parent, "train", "learn a model from raw text",
                  {"residual sentencepiece train train.en --vocab-size 8000 --output en.model",
                   "# byte pair encoding, one model for both languages",
                   "cat train.en train.de | residual sentencepiece train --model-type bpe --output "
                   "joint.model"});
  auto o = std::make_shared<TrainOptions>();
  command->add_option("input", o->inputs, "text, one sentence per line; - is standard input")
      ->type_name("FILE")
      ->default_str("-")
      ->group("Input and output");
  command->add_option("-o,--output", o->output, "model file to write; - is standard output")
      ->required()
      ->type_name("FILE")
      ->group("Input and output");
  add_replace_invalid(*command, o->invalid, "Input and output");
  add_training_options(*command, o->training);
  command->callback([o] {
    text::LineWriter output(o->output);  // fails early if the name is wrong
    output.write(text::train_sentence_piece(o->inputs, o->invalid, o->training));
    output.commit();
  });
}

using Method = void (text::SentencePiece::*)(std::string_view, std::string&) const;

void add_conversion(CLI::App& parent, const std::string& name, const std::string& summary,
                    const std::string& example, Method method) {
  struct Options {
    text::TransformLines files;
    fs::path model;
  };
  auto* command = add_command(parent, name, summary, {example});
  auto o = std::make_shared<Options>();
  add_line_options(*command, o->files);
  command->add_option("-m,--model", o->model, "model file of `residual sentencepiece train`")
      ->required()
      ->type_name("FILE")
      ->group("Segmentation");
  command->callback([o, method, name] {
    const text::SentencePiece model = text::SentencePiece::load(o->model);
    o->files.progress = name;
    text::transform_lines(o->files, [&] {
      return [&](std::string_view line, std::string& out) { (model.*method)(line, out); };
    });
  });
}

}  // namespace

void add_sentencepiece(CLI::App& root) {
  auto* parent =
      add_group(root, "sentencepiece", "Sub-words of raw text, by the SentencePiece library");
  add_train(*parent);
  add_conversion(*parent, "encode", "cut lines into pieces",
                 "residual sentencepiece encode --model en.model < test.en > test.sp.en",
                 &text::SentencePiece::encode);
  add_conversion(*parent, "decode", "turn pieces back into text",
                 "residual sentencepiece decode --model en.model < test.sp.en > test.en",
                 &text::SentencePiece::decode);
}

}  // namespace residual::cli
