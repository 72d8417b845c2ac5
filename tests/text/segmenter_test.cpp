#include "text/segmenter.h"
#include "support/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "support/temporary.h"
#include "text/bpe_data.h"

namespace residual::text {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const fs::path kText = fs::path(test::fixtures()) / "moses/in.en";

std::string small_model(const std::string& type, int64_t size = 150) {
  const std::vector<fs::path> files{kText};
  return train_sentence_piece(files, Invalid::refuse,
                              {.model_type = type, .vocab_size = size, .character_coverage = 1});
}

std::string transformed(const LineTransform& transform, std::string_view line) {
  std::string out;
  transform(line, out);
  return out;
}

TEST(SentencePiece, DecodingUndoesEncoding) {
  for (const char* type : {"unigram", "bpe"}) {
    const SentencePiece model(small_model(type), "model");
    std::string pieces, text;
    model.encode("The cat sat on the mat.", pieces);
    model.decode(pieces, text);
    EXPECT_THAT(pieces, HasSubstr("\xe2\x96\x81"));  // the library's mark of a word's beginning
    EXPECT_EQ(text, "The cat sat on the mat.");
  }
}

TEST(SentencePiece, RefusesAWordThatWouldTakeTooLongButNotALongLine) {
  const SentencePiece model(small_model("bpe"), "model");
  const std::string word(SentencePiece::kMaxWordBytes, 'a');
  std::string pieces, text;
  model.encode("the cat " + word, pieces);
  model.decode(pieces, text);
  EXPECT_EQ(text, "the cat " + word);
  EXPECT_THAT([&] { model.encode("the cat " + word + "b", pieces); },
              ThrowsMessage<Error>(HasSubstr("at most 524288 bytes, got one of 524289")));
}

TEST(SentencePiece, ModelsDoNotDependOnTheNumberOfThreads) {
  set_thread_count(1);
  const std::string model = small_model("unigram");
  set_thread_count(3);
  EXPECT_EQ(small_model("unigram"), model);
}

TEST(SentencePiece, UserSymbolsStayWhole) {
  const std::vector<fs::path> files{kText};
  const SentencePiece model(
      train_sentence_piece(files, Invalid::refuse, {.vocab_size = 150, .user_symbols = {"<2de>"}}),
      "model");
  std::string pieces;
  model.encode("<2de> a", pieces);
  EXPECT_THAT(pieces, HasSubstr("<2de> "));
}

// The library would end the process.
TEST(SentencePiece, TextWithoutALetterIsAnError) {
  const test::TemporaryDirectory directory;
  const std::vector<fs::path> files{directory / "text"};
  for (const std::string line :
       {"   ", "\t", "\xc2\xa0", "\xe2\x80\x8b", "\xe2\x96\x81", "\xef\xbf\xbd", "\x01"}) {
    replace_file(files[0], line + "\n" + line + line + "\n");
    EXPECT_THAT([&] { train_sentence_piece(files, Invalid::refuse, {.vocab_size = 20}); },
                ThrowsMessage<Error>(HasSubstr("no line to learn from")));
  }
  replace_file(files[0], " \nreserved: \xe2\x96\x85\n" + std::string(20, 'a') + "\n");
  EXPECT_THAT([&] { train_sentence_piece(files, Invalid::refuse, {.max_sentence_bytes = 19}); },
              ThrowsMessage<Error>(HasSubstr("every line of up to 19 bytes")));
}

TEST(SentencePiece, LinesWithoutALetterAreOnlySkipped) {
  const test::TemporaryDirectory directory;
  const std::vector<fs::path> files{directory / "text"};
  replace_file(files[0], " \n\n" + read_file(kText));
  EXPECT_EQ(train_sentence_piece(files, Invalid::refuse,
                                 {.model_type = "bpe", .vocab_size = 150, .character_coverage = 1}),
            small_model("bpe"));
}

TEST(SentencePiece, TheLibrarysReasonsSpellOptionsAsWeDo) {
  EXPECT_THAT([] { small_model("unigram", 5); },
              ThrowsMessage<Error>(HasSubstr("--character-coverage option")));
}

TEST(SentencePiece, WhatTheLibraryRefusesIsAnError) {
  EXPECT_THAT([] { small_model("unigram", 100'000); }, ThrowsMessage<Error>(HasSubstr("too high")));
  EXPECT_THROW(small_model("bpe", 5), Error);
  EXPECT_THROW(train_sentence_piece({}, Invalid::refuse, {}), Error);
  const std::vector<fs::path> missing{"/nonexistent"};
  EXPECT_THAT([&] { train_sentence_piece(missing, Invalid::refuse, {}); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent")));
  for (const std::string bad : {"", "nonsense", "\x0a\xff\xff\xff\xff"}) {
    EXPECT_THAT([&] { SentencePiece(bad, "my.model"); },
                ThrowsMessage<Error>(HasSubstr("my.model: not a SentencePiece model")));
  }
}

TEST(Segmenter, DoesWhatTheSingleStepsDo) {
  const Segmenter segmenter({.language = "en"}, read_file(bpe_file("400.codes")));
  EXPECT_EQ(all_lines(segmenter.to_pieces(), kText), read_file(bpe_file("400.en")));
  const fs::path words = fs::path(test::fixtures()) / "moses/tok.en";
  EXPECT_EQ(all_lines(segmenter.to_words(), kText), read_file(words));
  EXPECT_EQ(all_lines(segmenter.words_to_pieces(), words), read_file(bpe_file("400.en")));
  EXPECT_EQ(all_lines(segmenter.to_text(), bpe_file("400.en")),
            read_file(fs::path(test::fixtures()) / "moses/detok.en"));
}

TEST(Segmenter, NormalisesTokenisesAndLowercasesInThisOrder) {
  const Segmenter segmenter({.normalize_punctuation = true,
                             .remove_non_printing = true,
                             .aggressive = true,
                             .lowercase = true,
                             .subwords = "none"},
                            "");
  EXPECT_EQ(transformed(segmenter.to_pieces(), "High-speed “TRAINS”\x01."),
            "high @-@ speed &quot; trains &quot; .");
}

TEST(Segmenter, WithNothingToDoTextStaysAsItIs) {
  const Segmenter segmenter({.tokenizer = "none", .subwords = "none"}, "");
  EXPECT_EQ(transformed(segmenter.to_pieces(), " a  b "), " a  b ");
  EXPECT_EQ(transformed(segmenter.to_text(), " a  b "), " a  b ");
}

TEST(Chain, PassesEachResultToTheNextStep) {
  const auto adding = [](char c) -> LineTransform {
    return [c](std::string_view line, std::string& out) { (out += line) += c; };
  };
  EXPECT_EQ(transformed(chain({}), "x"), "x");
  EXPECT_EQ(transformed(chain({adding('a')}), "x"), "xa");
  const LineTransform three = chain({adding('a'), adding('b'), adding('c')});
  EXPECT_EQ(transformed(three, "x"), "xabc");
  EXPECT_EQ(transformed(three, ""), "abc");
}

TEST(Segmenter, SurvivesSavingAndLoading) {
  const test::TemporaryDirectory directory;
  const Segmenter bpe({.language = "de", .lowercase = true}, read_file(bpe_file("100.codes")));
  bpe.save(directory.path(), "de");
  const Segmenter loaded = Segmenter::load(directory.path(), "de");
  EXPECT_EQ(loaded.options().language, "de");
  EXPECT_EQ(loaded.options().model, "de.codes");
  EXPECT_EQ(all_lines(loaded.to_pieces(), kText), all_lines(bpe.to_pieces(), kText));

  const Segmenter pieces({.tokenizer = "none", .subwords = "sentencepiece", .model = "joint.model"},
                         small_model("bpe"));
  pieces.save(directory.path(), "en");
  EXPECT_TRUE(fs::exists(directory / "joint.model"));
  const Segmenter again = Segmenter::load(directory.path(), "en");
  const std::string encoded = transformed(again.to_pieces(), "The cat.");
  EXPECT_EQ(encoded, transformed(pieces.to_pieces(), "The cat."));
  EXPECT_EQ(transformed(again.to_text(), encoded), "The cat.");
}

TEST(Segmenter, PiecesThatItDoesNotKnowBecomeWordsAllTheSame) {
  const Segmenter pieces({.tokenizer = "none", .subwords = "sentencepiece"}, small_model("bpe"));
  const std::string known = transformed(pieces.to_pieces(), "The cat");
  EXPECT_EQ(transformed(pieces.to_text(), known + " ▁猫 犬 ▁x▁y"), "The cat 猫犬 x y");
  EXPECT_EQ(transformed(pieces.to_text(), "▁猫 " + known), "猫 The cat");
}

TEST(Segmenter, AHostileDirectoryGivesAnError) {
  const test::TemporaryDirectory directory;
  const auto error_of = [&](const std::string& settings) -> std::string {
    replace_file(directory / "segmentation.en.toml", settings);
    try {
      Segmenter::load(directory.path(), "en");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("model = \"../secret\""), HasSubstr("segmentation.en.toml: model:"));
  EXPECT_THAT(error_of("model = \"..\""), HasSubstr("model: expected the name of a file"));
  EXPECT_THAT(error_of(""), HasSubstr("model: expected the name of a file"));
  EXPECT_THAT(error_of("model = \"absent.codes\""), HasSubstr("absent.codes"));
  EXPECT_THAT(error_of("tokenizer = \"mosses\""), HasSubstr("expected \"moses\" or \"none\""));
  EXPECT_THAT(error_of("subwords = \"none\"\nlanguge = \"en\""), HasSubstr("languge"));
  EXPECT_EQ(error_of("subwords = \"none\""), "no error");
  replace_file(directory / "bad.codes", "#version: 0.2\na\n");
  EXPECT_THAT(error_of("model = \"bad.codes\""), HasSubstr("bad.codes:2:"));
}

}  // namespace
}  // namespace residual::text
