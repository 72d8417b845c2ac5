#include "decode/translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/random.h"
#include "decode/split.h"
#include "model/export.h"
#include "support/models.h"
#include "support/temporary.h"
#include "support/words.h"

namespace residual::decode {
namespace {

using test::word_tools;
using test::word_translator;
using test::words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> some_lines(int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) lines.push_back(words(i, i * 5 % 13));
  return lines;
}

TEST(Translator, GivesEveryLineItsOwnTranslationInOrder) {
  const auto lines = some_lines(40);
  auto translator = word_translator({.crew = {.threads = 2, .batch_sentences = 4}});
  const auto all = translator.translate(lines);
  ASSERT_EQ(all.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto one = translator.translate(std::span(lines).subspan(i, 1));
    EXPECT_EQ(one[0].outputs[0].text, all[i].outputs[0].text);
    EXPECT_EQ(one[0].outputs[0].score, all[i].outputs[0].score);
  }
}

TEST(Translator, GivesAnEmptyLineForALineWithoutWords) {
  const std::vector<std::string> lines = {"", "w1", " \t "};
  const auto all = word_translator().translate(lines);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].outputs[0].text, "");
  EXPECT_NE(all[1].outputs[0].text, "");
  EXPECT_EQ(all[2].outputs[0].text, "");
}

TEST(Translator, DeliversALineWhileTheNextIsNotThereYet) {
  std::mutex mutex;
  std::condition_variable changed;
  int delivered = 0, given = 0;
  word_translator().translate({.next = [&]() -> std::optional<SourceLine> {
                                 std::unique_lock lock(mutex);
                                 changed.wait(lock, [&] { return delivered == given; });
                                 if (given == 3) return std::nullopt;
                                 ++given;
                                 return SourceLine{"w3 w4", ""};
                               },
                               .deliver =
                                   [&](const Translation&) {
                                     const std::lock_guard lock(mutex);
                                     ++delivered;
                                     changed.notify_all();
                                   }});
  EXPECT_EQ(delivered, 3);
}

// One that is cut into very many parts, all of them waiting for two threads.
TEST(Translator, HasFewPartsOfALineOnTheirWay) {
  model::Config config = test::small_config();
  config.max_positions = 8;
  std::string line;
  for (int i = 0; i < 3000; ++i) line += fmt::format("w{}. ", i % 40);
  auto tools = word_tools();
  const auto translator = [&](int64_t sentences) {
    return std::make_unique<Translator>(
        std::vector{test::random_model(config).weights()}, tools,
        TranslatorOptions{.search = {.beam = 1, .max_length_factor = 0, .max_length_offset = 2},
                          .crew = {.threads = 2, .batch_sentences = sentences}});
  };
  const std::vector<std::string> lines = {line};
  const auto few = translator(1)->translate(lines), many = translator(2000)->translate(lines);
  EXPECT_EQ(few[0].outputs[0].text, many[0].outputs[0].text);
  EXPECT_NE(few[0].outputs[0].text, "");
}

// Words between spaces, and sentences that end with "!" or "?".
TextTools sentence_tools() {
  TextTools tools = word_tools();
  tools.source_sentences = tools.target_sentences = std::make_shared<text::SentenceSplitter>("en");
  return tools;
}

std::string best(Translator& translator, const std::string& line) {
  return translator.translate(std::vector<std::string>{line})[0].outputs[0].text;
}

TEST(Sentences, AreTranslatedByThemselvesAndJoinedByWhatIsBetweenThem) {
  auto translator = word_translator({}, sentence_tools());
  const std::string one = "w1 w2 w3!", two = "w9 w4?", three = "w7 w5 w6";
  const std::string line = " " + one + " \t" + two + "\u00A0 " + three + "  ";
  EXPECT_EQ(best(translator, line), best(translator, one) + " \t" + best(translator, two) +
                                        "\u00A0 " + best(translator, three));
  auto keeping = word_translator({.text = {.sentences = Sentences::keep}}, sentence_tools());
  auto plain = word_translator();
  EXPECT_EQ(best(keeping, line), best(plain, line));
}

TEST(Sentences, FortyOnALineComeBackAsForty) {
  std::string line, wanted;
  auto translator = word_translator({}, sentence_tools());
  for (int i = 0; i < 40; ++i) {
    const std::string sentence = words(i, 9) + " !";
    line += (i > 0 ? " " : "") + sentence;
    wanted += (i > 0 ? " " : "") + best(translator, sentence);
  }
  EXPECT_EQ(best(translator, line), wanted);
}

TEST(Sentences, ReceiveTheSentencesOfAPrefix) {
  const auto prefixed = [](Translator& translator, const std::string& text,
                           const std::string& prefix) {
    Translation got;
    bool is_given = false;
    translator.translate({.next = [&]() -> std::optional<SourceLine> {
                            if (std::exchange(is_given, true)) return std::nullopt;
                            return SourceLine{text, prefix};
                          },
                          .deliver = [&](Translation t) { got = std::move(t); }});
    return got;
  };
  auto translator = word_translator({}, sentence_tools());
  EXPECT_EQ(prefixed(translator, "w1 w2! w3 w4! w5", "w8 w8 w8! w9").outputs[0].text,
            prefixed(translator, "w1 w2!", "w8 w8 w8!").outputs[0].text + " " +
                prefixed(translator, "w3 w4!", "w9").outputs[0].text + " " +
                prefixed(translator, "w5", "").outputs[0].text);
  // More sentences than the source has: the last one takes the rest.
  auto plain = word_translator();
  EXPECT_EQ(prefixed(translator, "w1 w2", "w8! w9! w7").outputs[0].text,
            prefixed(plain, "w1 w2", "w8! w9! w7").outputs[0].text);
  // Alternatives are those of the sentence that the prefix leads to.
  auto choosing =
      word_translator({.search = {.beam = 6, .n_best = 3, .alternatives = true}}, sentence_tools());
  const auto own = prefixed(choosing, "w3 w4!", "w9"),
             all = prefixed(choosing, "w1! w3 w4!", "w8! w9");
  ASSERT_THAT(all.outputs, SizeIs(3));
  std::set<std::string> ends;
  for (const auto& output : all.outputs) ends.insert(output.text.substr(output.text.find(" w9")));
  EXPECT_THAT(ends, SizeIs(3));
  for (const auto& output : own.outputs) EXPECT_EQ(ends.count(" " + output.text), 1U);
}

TEST(Sentences, StayTogetherInALineWithPhrases) {
  auto translator = word_translator({}, sentence_tools()), plain = word_translator();
  const auto with_phrase = [](Translator& by) {
    std::string text;
    bool is_given = false;
    by.translate({.next = [&]() -> std::optional<SourceLine> {
                    if (std::exchange(is_given, true)) return std::nullopt;
                    return SourceLine{"w1 w2! w3", "", {"w9"}};
                  },
                  .deliver = [&](const Translation& t) { text = t.outputs[0].text; }});
    return text;
  };
  EXPECT_EQ(with_phrase(translator), with_phrase(plain));
}

// A long line is neither segmented nor kept as a whole before its first sentence is done.
TEST(Sentences, OfALongLineAreReportedWhileTheRestIsStillText) {
  auto tools = std::make_shared<TextTools>(sentence_tools());
  std::atomic<int> segmented = 0;
  tools->to_source_pieces = [&] {
    return [&](std::string_view text, std::string& out) {
      ++segmented;
      out += text;
    };
  };
  std::string line;
  constexpr int kSentences = 3000;
  for (int i = 0; i < kSentences; ++i) line += fmt::format("w{}! ", i % 40);
  auto translator =
      word_translator({.search = {.beam = 1}, .crew = {.threads = 2, .batch_sentences = 4}});
  int reports = 0, at_first = 0;
  size_t bytes = 0;
  bool is_given = false;
  std::string text, added;
  translator.translate({.next = [&]() -> std::optional<SourceLine> {
                          if (std::exchange(is_given, true)) return std::nullopt;
                          return SourceLine{line, ""};
                        },
                        .deliver = [&](const Translation& t) { text = t.outputs[0].text; },
                        .progress =
                            [&](const Progressed& done) {
                              if (++reports == 1) at_first = segmented;
                              EXPECT_GT(done.source_bytes, bytes);
                              bytes = done.source_bytes;
                              added += done.added;
                            },
                        .terms = {.tools = tools}});
  EXPECT_EQ(reports, kSentences);
  EXPECT_LE(at_first, 100);
  EXPECT_EQ(added, text);
  EXPECT_EQ(bytes, line.size() - 1);
}

TEST(MarkedText, WithoutItsMarksIsTheTranslationOfTheTextWithoutMarks) {
  const TextTools tools = sentence_tools();
  auto html = word_translator({.text = {.markup = text::Markup::html}}, tools);
  auto plain = word_translator({}, tools);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Random random(seed, 3);
    std::string marked, stripped;
    int open = 0;
    std::map<std::string, int> tags, found;
    const auto add_tag = [&](const std::string& tag) {
      marked += tag;
      ++tags[tag];
    };
    for (uint64_t i = 0; i < 12; ++i) {
      const double draw = random.uniform(i);
      if (draw < 0.3) add_tag(fmt::format("<b id={}>", open++));
      const std::string word = fmt::format("w{}{}", i % 9, draw > 0.9 ? "!" : "");
      marked += word;
      stripped += (i > 0 ? " " : "") + word;
      if (draw < 0.6 && open > 0) --open, add_tag("</b>");
      marked += i < 11 ? " " : "";
    }
    while (open-- > 0) add_tag("</b>");
    const std::string got = best(html, marked);
    std::string text;
    int depth = 0;
    for (size_t at = 0; at < got.size();) {
      if (got[at] != '<') {
        text += got[at++];
        continue;
      }
      const size_t end = got.find('>', at) + 1;
      ++found[got.substr(at, end - at)];
      depth += got[at + 1] == '/' ? -1 : 1;
      EXPECT_GE(depth, 0) << got;
      at = end;
    }
    EXPECT_EQ(depth, 0) << got;
    EXPECT_EQ(found, tags) << got;
    EXPECT_EQ(text, best(plain, stripped)) << marked;
  }
}

TEST(MarkedText, KeepsPlaceholdersStructureAndWhiteSpace) {
  auto html = word_translator({.text = {.markup = text::Markup::html}}, sentence_tools());
  const std::string got =
      best(html, "<p>\n  w1 {n} w2! </p>\n<pre> w3 </pre><td>w4 https://a.b/?x&y</td>\n");
  EXPECT_THAT(got, testing::StartsWith("<p>\n  "));
  EXPECT_THAT(got, HasSubstr(" </p>\n<pre> w3 </pre><td>"));
  EXPECT_THAT(got, testing::EndsWith(" https://a.b/?x&y</td>\n"));
  EXPECT_EQ(got.find("{n}"), got.rfind("{n}"));
  EXPECT_THAT(got, HasSubstr("{n}"));
  auto lines = word_translator({.text = {.markup = text::Markup::text}}, sentence_tools());
  EXPECT_EQ(best(lines, "  w1 w2 \r"), "  " + best(lines, "w1 w2") + " \r");
}

TEST(Translator, StopsSegmentingWhatIsNoLongerWanted) {
  const auto unwanted = std::make_shared<std::atomic<bool>>(false);
  auto tools = std::make_shared<TextTools>(word_tools());
  std::atomic<int> calls = 0;
  tools->to_source_pieces = [&] {
    return [&](std::string_view text, std::string& out) {
      if (++calls == 3) *unwanted = true;
      out += text;
    };
  };
  std::string line;
  for (int i = 0; i < 5000; ++i) line += "w1. ";
  auto translator = word_translator();
  const Translator::Terms terms = {.tools = tools, .unwanted = unwanted};
  bool is_given = false;
  EXPECT_THAT(
      [&] {
        translator.translate({.next = [&]() -> std::optional<SourceLine> {
                                if (std::exchange(is_given, true)) return std::nullopt;
                                return SourceLine{line, ""};
                              },
                              .deliver = [](const Translation&) {},
                              .terms = terms});
      },
      testing::ThrowsMessage<Error>(HasSubstr("given up")));
  EXPECT_EQ(calls, 3);
}

// The lines' translations on terms of their own.
std::vector<Translation> translate_on(Translator& translator, const Translator::Terms& terms,
                                      const std::vector<std::string>& lines) {
  std::vector<Translation> all;
  size_t at = 0;
  translator.translate({.next = [&]() -> std::optional<SourceLine> {
                          if (at == lines.size()) return std::nullopt;
                          return SourceLine{lines[at++], ""};
                        },
                        .deliver = [&](Translation t) { all.push_back(std::move(t)); },
                        .terms = terms});
  return all;
}

TEST(Translator, GivesACallItsOwnSearch) {
  const SearchOptions own = {.beam = 7, .n_best = 6, .length_penalty = 0};
  const std::vector<std::string> lines = {"w1 w2 w3", words(4, 90)};
  auto general = word_translator(), special = word_translator({.search = own});
  const auto got =
      translate_on(general, {.search = std::make_shared<const SearchOptions>(own)}, lines);
  const auto wanted = special.translate(lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSERT_THAT(got[i].outputs, SizeIs(6));
    for (size_t rank = 0; rank < 6; ++rank) {
      EXPECT_EQ(got[i].outputs[rank].text, wanted[i].outputs[rank].text);
      EXPECT_EQ(got[i].outputs[rank].score, wanted[i].outputs[rank].score);
    }
  }
}

TEST(Translator, FailsACallThatIsUnwanted) {
  auto translator = word_translator();
  const std::vector<std::string> lines = {"w1 w2 w3"};
  EXPECT_THROW(
      translate_on(translator, {.unwanted = std::make_shared<std::atomic<bool>>(true)}, lines),
      Error);
  EXPECT_THAT(translator.translate(lines), SizeIs(1));
}

TEST(Translator, EndsWhenDeliveryFails) {
  bool is_stopped = false;
  Translator::Stream stream = {.next =
                                   [] {
                                     return SourceLine{"w1 w2", ""};
                                   },
                               .deliver = [](const Translation&) { fail("closed"); },
                               .stop = [&] { is_stopped = true; }};
  EXPECT_THROW(word_translator().translate(stream), Error);
  EXPECT_TRUE(is_stopped);
}

TEST(Translator, SplitsALongLineOrNamesIt) {
  const std::string sentence = words(1, 30) + " .";
  const std::vector<std::string> lines = {"w1", sentence + " " + sentence + " " + words(2, 100)};
  auto splitting = word_translator({.search = {.with_attention = true}});
  const auto all = splitting.translate(lines);
  const auto& joined = all[1].outputs[0];
  EXPECT_EQ(all[1].source_pieces.size(), 162U);
  EXPECT_EQ(joined.attention.size(), joined.pieces.size());
  EXPECT_EQ(joined.log_probabilities.size(), joined.pieces.size() + 1);
  const std::vector<std::string> first = {sentence};
  const auto part = splitting.translate(first);
  EXPECT_THAT(joined.text, testing::StartsWith(part[0].outputs[0].text));

  auto refusing = word_translator({.long_lines = LongLines::refuse});
  EXPECT_THROW(
      try { refusing.translate(lines); } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("line 2: has 163 tokens, the model takes 64"));
        throw;
      },
      Error);
}

TEST(Translator, ScoresASplitLineAsOneTranslation) {
  const std::vector<std::string> lines = {words(1, 200)};
  for (const double penalty : {0.0, 1.0}) {
    auto translator =
        word_translator({.search = {.n_best = 5, .length_penalty = penalty, .word_penalty = 0.5}});
    const auto outputs = translator.translate(lines)[0].outputs;
    EXPECT_THAT(outputs, SizeIs(5));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& parts = outputs[i].log_probabilities;
      const auto n = static_cast<double>(parts.size());
      EXPECT_EQ(parts.size(), outputs[i].pieces.size() + 1);
      const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
      EXPECT_NEAR(outputs[i].score, (sum - 0.5 * n) / std::pow(n, penalty), 1e-9);
      EXPECT_LE(outputs[i].score, outputs[0].score);
    }
  }
}

TEST(Translator, GivesAlternativesOfASplitLinesBeginningAlone) {
  const std::vector<std::string> lines = {words(1, 200)};
  const SearchOptions search = {.beam = 6, .n_best = 3, .alternatives = true};
  const auto outputs = word_translator({.search = search}).translate(lines)[0].outputs;
  const auto best = word_translator({.search = {.beam = 6}}).translate(lines)[0].outputs[0];
  ASSERT_THAT(outputs, SizeIs(3));
  std::set<std::string> first;
  for (const auto& output : outputs) {
    first.insert(output.pieces[0]);
    // The last part has a sixth of the line at least.
    EXPECT_TRUE(std::equal(output.pieces.end() - 10, output.pieces.end(), best.pieces.end() - 10));
  }
  EXPECT_THAT(first, SizeIs(3));
}

TEST(Translator, AddsUpTheCoverageOfASplitLinesParts) {
  const std::vector<std::string> lines = {words(1, 200)};
  const auto term = [&](double penalty) {
    auto translator = word_translator({.search = {.beam = 1, .coverage_penalty = penalty}});
    const auto output = translator.translate(lines)[0].outputs[0];
    return output.score - output.log_probability() / static_cast<double>(output.pieces.size() + 1);
  };
  EXPECT_NEAR(term(0), 0, 1e-6);
  EXPECT_LT(term(1), -0.01);
  EXPECT_NEAR(term(3), 3 * term(1), 1e-6);
}

// One character can make several tokens.
TEST(Translator, NamesALineThatCannotBeSplitToFit) {
  auto tools = word_tools();
  tools.to_source_pieces = [] {
    return [](std::string_view line, std::string& out) {
      for (const char c : line) out += c == '|' ? words(0, 70) : "w1 ";
    };
  };
  Translator translator({test::random_model(test::small_config()).weights()}, tools, {});
  const std::vector<std::string> lines = {"a", "a|b"};
  EXPECT_THROW(
      try { translator.translate(lines); } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("line 2: a character of it makes 71 tokens"));
        throw;
      },
      Error);
}

TEST(Translator, TakesAnyNumberOfSentencesForABatch) {
  const auto most = std::numeric_limits<int64_t>::max();
  auto translator = word_translator({.crew = {.threads = 2, .batch_sentences = most}});
  EXPECT_THAT(translator.translate(some_lines(3)), SizeIs(3));
}

TEST(Translator, BeginsWithThePrefix) {
  std::vector<Translation> got;
  bool is_given = false;
  word_translator().translate({.next = [&]() -> std::optional<SourceLine> {
                                 if (std::exchange(is_given, true)) return std::nullopt;
                                 return SourceLine{"w1 w2", "w9 w8"};
                               },
                               .deliver = [&](Translation t) { got.push_back(std::move(t)); }});
  EXPECT_THAT(got[0].outputs[0].text, testing::StartsWith("w9 w8"));
}

TEST(Translator, SegmentsAPrefixOnceForLinesThatShareIt) {
  auto tools = std::make_shared<TextTools>(word_tools());
  int calls = 0;
  tools->to_target_pieces = [&] {
    return [&](std::string_view text, std::string& out) {
      ++calls;
      out += text;
    };
  };
  const std::vector<std::string> prefixes = {"w9 w8", "w9 w8", "w9 w8", "w7", ""};
  std::vector<Translation> got;
  size_t at = 0;
  word_translator().translate({.next = [&]() -> std::optional<SourceLine> {
                                 if (at == prefixes.size()) return std::nullopt;
                                 return SourceLine{"w1 w2", prefixes[at++]};
                               },
                               .deliver = [&](Translation t) { got.push_back(std::move(t)); },
                               .terms = {.tools = tools}});
  EXPECT_EQ(calls, 2);  // an empty one needs none
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_THAT(got[i].outputs[0].text, testing::StartsWith(prefixes[i]));
  }
}

TEST(Translator, DrawsTheSameWhateverPhrasesAreWanted) {
  const auto drawn = [](const std::vector<std::string>& phrases) {
    std::vector<Translation> got;
    bool is_given = false;
    auto sampling =
        word_translator({.search = {.beam = 3, .n_best = 3, .sampling = {.is_on = true}}});
    sampling.translate({.next = [&]() -> std::optional<SourceLine> {
                          if (std::exchange(is_given, true)) return std::nullopt;
                          return SourceLine{"w1 w2 w3", "", phrases};
                        },
                        .deliver = [&](Translation t) { got.push_back(std::move(t)); }});
    std::vector<std::string> texts;
    for (const auto& output : got.at(0).outputs) texts.push_back(output.text);
    return texts;
  };
  EXPECT_EQ(drawn({"w9 w8"}), drawn({}));
}

TEST(Translator, DoesNotTakeSpeltOutSpecialSymbolsForTheirMeaning) {
  const std::vector<std::string> lines = {"w1 </s> w2", "w1 <unk> w2"};
  const auto all = word_translator().translate(lines);
  EXPECT_EQ(all[0].outputs[0].text, all[1].outputs[0].text);
}

TEST(Translator, ScoresItsOwnTranslationAsItReportedIt) {
  const std::vector<std::string> sources = {"w1 w2 w3", "w5 w6"};
  auto translator = word_translator({.search = {.length_penalty = 0}});
  std::vector<std::string> targets;
  const auto translations = translator.translate(sources);
  for (const auto& t : translations) targets.push_back(t.outputs[0].text);
  const auto scored = translator.score(sources, targets);
  for (size_t i = 0; i < scored.size(); ++i) {
    EXPECT_EQ(scored[i].log_probabilities, translations[i].outputs[0].log_probabilities);
    EXPECT_NEAR(scored[i].sum, translations[i].outputs[0].score, 1e-5);
  }
}

TEST(Translator, ScoresPairsAlikeHoweverManyGoTogether) {
  std::vector<std::string> sources, targets;
  for (int i = 0; i < 200; ++i) {  // of which some groups have too many tokens
    sources.push_back(words(i, i < 100 ? 60 : 5));
    targets.push_back(words(i + 7, i < 100 ? 60 : 5));
  }
  const auto translator = word_translator({.crew = {.threads = 2}});
  const auto all = translator.score(sources, targets);
  for (const size_t i : {0, 40, 99, 100, 199}) {
    const auto one =
        translator.score(std::span(sources).subspan(i, 1), std::span(targets).subspan(i, 1));
    EXPECT_EQ(all[i].log_probabilities, one[0].log_probabilities) << i;
    EXPECT_EQ(all[i].pieces, one[0].pieces);
  }
}

// A tool may leave nothing of a part of a line.
TEST(Translator, TranslatesNoPartWithoutPieces) {
  auto tools = word_tools();
  tools.to_source_pieces = [] {
    return [](std::string_view line, std::string& out) {
      if (line != "?") out += line;
    };
  };
  auto translator = word_translator({}, tools);
  const std::string sentence = words(1, 100) + " .";
  const auto plain = translator.translate(std::vector<std::string>{sentence})[0];
  const auto more = translator.translate(std::vector<std::string>{sentence + " ?"})[0];
  EXPECT_EQ(more.outputs[0].text, plain.outputs[0].text);
  EXPECT_EQ(more.source_pieces.size(), plain.source_pieces.size());
}

TEST(Translator, GivesTheSourcesPieceInPlaceOfUnk) {
  auto tools = word_tools();
  tools.source_tag = "w9";
  SearchOptions search = {.unk_penalty = -3, .with_attention = true};
  auto plain = word_translator({.search = search}, tools);
  search.with_attention = false;
  search.replace_unk = true;
  auto replacing = word_translator({.search = search}, tools);
  const std::vector<std::string> lines = {words(1, 6) + " \u2603 new", "", words(3, 80) + " new"};
  const auto want = plain.translate(lines), got = replacing.translate(lines);
  int replaced = 0;
  for (size_t l = 0; l < lines.size(); ++l) {
    std::istringstream stream(lines[l]);
    const std::vector<std::string> source(std::istream_iterator<std::string>{stream}, {});
    const Output& output = want[l].outputs[0];
    std::string text;
    for (size_t i = 0; i < output.pieces.size(); ++i) {
      const auto& row = output.attention[i];
      const bool is_unk = output.pieces[i] == "<unk>";
      const auto most = std::ranges::max_element(row) - row.begin();
      text += (i > 0 ? " " : "") + (is_unk ? source[most] : output.pieces[i]);
      replaced += is_unk ? 1 : 0;
    }
    EXPECT_EQ(got[l].outputs[0].text, text);
    EXPECT_EQ(got[l].outputs[0].pieces, output.pieces);
    EXPECT_THAT(got[l].outputs[0].attention, testing::IsEmpty());
  }
  EXPECT_GT(replaced, 3);
}

// The tag that a direction puts before each source is nobody's business.
TEST(Translator, ShowsSourcesWithoutTheTagOfTheirDirection) {
  auto tools = word_tools();
  tools.source_tag = "w9";
  auto tagged = word_translator({.search = {.with_attention = true}}, tools);
  auto plain = word_translator({.search = {.with_attention = true}});
  const auto got = tagged.translate(std::vector<std::string>{"w1 w2 w3"})[0];
  const auto want = plain.translate(std::vector<std::string>{"w9 w1 w2 w3"})[0];
  EXPECT_THAT(got.source_pieces, ElementsAre("w1", "w2", "w3"));
  EXPECT_EQ(got.outputs[0].tokens, want.outputs[0].tokens);
  ASSERT_THAT(got.outputs[0].attention, SizeIs(want.outputs[0].attention.size()));
  for (size_t i = 0; i < got.outputs[0].attention.size(); ++i) {
    const auto& row = want.outputs[0].attention[i];
    EXPECT_THAT(got.outputs[0].attention[i], testing::ElementsAreArray(row.begin() + 1, row.end()));
    EXPECT_NEAR(got.outputs[0].attention_to_end[i],
                1 - std::accumulate(row.begin(), row.end(), 0.0F), 1e-5);
  }
}

TEST(Translator, RunsAModelDirectoryFromTextToText) {
  const test::TemporaryDirectory directory;
  const auto made = test::random_model(test::small_config());
  test::write_word_model(directory / "model", made);

  const std::vector<std::string> lines = {"w1 w2, w3"};
  const auto from_disk = Translator({directory / "model"}, {}).translate(lines);
  EXPECT_THAT(from_disk[0].source_pieces, ElementsAre("w1", "w2", "<unk>", "w3"));
  const std::vector<std::string> pieces = {"w1 w2 , w3"};
  EXPECT_EQ(word_translator().translate(pieces)[0].outputs[0].tokens,
            from_disk[0].outputs[0].tokens);
  const auto twice = Translator({directory / "model", directory / "model"}, {}).translate(lines);
  EXPECT_EQ(twice[0].outputs[0].tokens, from_disk[0].outputs[0].tokens);
}

// Matrices of these widths are used where they lie in a file, and packed for the second sentence.
TEST(Translator, TranslatesWithWeightsInAFileAsWithPackedOnes) {
  const test::TemporaryDirectory directory;
  model::Config config = test::small_config();
  config.width = 64;
  config.inner = 128;
  config.heads = 4;
  const auto made = test::random_model(config);
  test::write_word_model(directory / "float32", made);
  const auto float32 = model::Directory::open(directory / "float32");
  model::write_directory(directory / "int8", float32.description(),
                         model::int8_tensors(float32).list, directory / "float32");
  const std::vector<std::string> lines = {"w1 w2 w3 w40 w5"};
  for (const auto& [name, precision] : {std::pair("float32", kernels::Precision::float32),
                                        std::pair("int8", kernels::Precision::int8)}) {
    const auto expected =
        Translator({made.weights(precision)}, word_tools(), {}).translate(lines)[0];
    Translator translator({directory / name}, {});
    for (int i = 0; i < 3; ++i) {
      const auto found = translator.translate(lines)[0];
      EXPECT_EQ(found.outputs[0].tokens, expected.outputs[0].tokens) << name;
      EXPECT_EQ(found.outputs[0].score, expected.outputs[0].score) << name;
    }
  }
}

TEST(Split, CutsAtSentencesThenSpacesThenCharacters) {
  const auto short_enough = [](std::string_view part) { return part.size() <= 8; };
  EXPECT_THAT(split_to_fit("One two. Three; f", short_enough),
              ElementsAre("One two.", "Three;", "f"));
  EXPECT_THAT(split_to_fit("aaaa bbbb cccc", short_enough), ElementsAre("aaaa", "bbbb", "cccc"));
  EXPECT_THAT(split_to_fit("ääääääää", short_enough), ElementsAre("ääää", "ääää"));
  EXPECT_THAT(split_to_fit("3.14159 + 2", short_enough), ElementsAre("3.14159", "+ 2"));
  EXPECT_THAT(split_to_fit("  ", short_enough), IsEmpty());
}

}  // namespace
}  // namespace residual::decode
