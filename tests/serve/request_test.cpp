#include "serve/request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string error_of(const std::string& body) {
  return residual::test::error_of([&] { parse_json(body, {}); });
}

decode::Translation translation(const std::vector<std::string>& outputs) {
  decode::Translation made{.source_pieces = {"a"}};
  for (const auto& text : outputs) made.outputs.push_back({.text = text});
  return made;
}

TEST(Request, TakesOneTextOrSeveral) {
  const auto one = parse_json(R"({"text": "a b"})", {});
  EXPECT_THAT(one.texts, ElementsAre("a b"));
  EXPECT_FALSE(one.is_list);
  const auto several = parse_json(R"({"text": ["a", "b\nc"]})", {});
  EXPECT_THAT(several.texts, ElementsAre("a", "b\nc"));
  EXPECT_TRUE(several.is_list);
  EXPECT_TRUE(parse_json(R"({"text": []})", {}).is_list);
}

TEST(Request, ChangesOnlyWhatItMentionsOfTheSearch) {
  const auto request =
      parse_json(R"({"text": "a", "beam": 9, "length_penalty": 0, "stop": "bound"})",
                 {.beam = 2, .word_penalty = 0.5});
  EXPECT_EQ(request.search.beam, 9);
  EXPECT_EQ(request.search.length_penalty, 0);
  EXPECT_EQ(request.search.word_penalty, 0.5);
  EXPECT_EQ(request.search.stop, decode::Stop::bound);
}

TEST(Request, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("not valid JSON at byte 1"));
  EXPECT_THAT(error_of("{\"text\": \"a\"} x"), HasSubstr("not valid JSON at byte 15"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("expected a JSON object, got array"));
  EXPECT_THAT(error_of("{}"), HasSubstr("text: missing"));
  EXPECT_THAT(error_of("{\"text\": \"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(R"({"text": 3})"),
              HasSubstr("text: expected a string or a list of strings, got number"));
  EXPECT_THAT(error_of(R"({"text": null})"), HasSubstr("list of strings, got null"));
  EXPECT_THAT(error_of(R"({"text": "a", "beem": 1})"), HasSubstr("did you mean \"beam\"?"));
  EXPECT_THAT(error_of(R"({"text": "a", "beam": 0})"), HasSubstr("beam: must be at least 1, is 0"));
  EXPECT_THAT(error_of(R"({"text": "a", "beam": 99})"),
              HasSubstr("beam: must be at most 62, is 99"));
  EXPECT_THAT(error_of(R"({"text": "a", "beam": 1.5})"), HasSubstr("beam: expected an integer"));
  EXPECT_THAT(error_of(R"({"text": "a", "beam": 18446744073709551615})"),
              HasSubstr("beam: 18446744073709551615 is too large"));
  EXPECT_THAT(error_of(R"({"text": "a", "beam": 1e999})"), HasSubstr("too large"));
  EXPECT_THAT(error_of(R"({"text": "a", "n_best": 6})"), HasSubstr("n_best is 6"));
  EXPECT_THAT(error_of(R"({"text": "a", "attention_layer": 1})"), HasSubstr("always uses 0"));
  EXPECT_THAT(error_of(R"({"text": "a", "repetition_penalty": 0})"),
              HasSubstr("repetition_penalty"));
  EXPECT_THAT(error_of(R"({"text": "a", "coverage_penalty": -1})"), HasSubstr("coverage_penalty"));
  EXPECT_THAT(error_of(R"({"text": "a", "sampling": {"top_k": 3}})"),
              HasSubstr("with sampling.is_on only"));
  EXPECT_THAT(error_of(R"({"text": ["a"], "prefix": ["b", "c"]})"),
              HasSubstr("2 prefixes for 1 texts"));
  EXPECT_THAT(error_of(R"({"text": ["a", "b"], "prefix": ["c"]})"),
              HasSubstr("1 prefixes for 2 texts"));
  EXPECT_THAT(error_of(R"({"text": "a", "prefix": []})"), HasSubstr("0 prefixes for 1 texts"));
  EXPECT_EQ(error_of(R"({"text": ["a", "b"], "prefix": "c"})"), "");
  EXPECT_EQ(error_of(R"({"text": "a", "terms": [{"source": "a", "target": "b"}]})"), "");
  EXPECT_EQ(error_of(R"({"text": "a", "terms": []})"), "");
  EXPECT_THAT(error_of(R"({"text": "a", "terms": ["a"]})"), HasSubstr("terms"));
  EXPECT_THAT(error_of(R"({"text": "a", "terms": [{"source": "a", "to": "b"}]})"), HasSubstr("to"));
  EXPECT_THAT(error_of(R"({"text": "a", "sampling": {"is_on": true},
                           "terms": [{"source": "a", "target": "b"}]})"),
              HasSubstr("not in sampling"));
  EXPECT_THAT(error_of(R"({"text": "a", "max_length": -1})"), HasSubstr("max_length"));
  EXPECT_THAT(error_of(R"({"text": "a", "max_length": 3, "max_length_factor": 2})"),
              HasSubstr("max_length: stands instead of"));
}

TEST(Request, HasNoNulCharacter) {
  EXPECT_EQ(error_of(R"({"text": "a\u0000b"})"), "text: contains the character U+0000; remove it");
  EXPECT_EQ(error_of(R"({"text": ["a", "\u0000"]})"),
            "text: contains the character U+0000; remove it");
  EXPECT_EQ(error_of(R"({"text": "a", "prefix": "\u0000"})"),
            "prefix: contains the character U+0000; remove it");
  EXPECT_THROW(parse_text(std::string_view("a\0b", 3), {}, {}), Error);
}

TEST(Request, HasEachKeyOnce) {
  EXPECT_EQ(error_of(R"({"text": "a", "text": "b"})"), "text: given twice");
  EXPECT_EQ(error_of(R"({"text": "a", "sampling": {"is_on": true, "is_on": true}})"),
            "is_on: given twice");
  EXPECT_EQ(error_of(R"({"text": "a", "terms": [{"source": "a", "target": "b"},
                                                {"source": "b", "target": "c"}]})"),
            "");
}

TEST(Request, MayLimitTheLengthWhateverTheSource) {
  const auto json_form = parse_json(R"({"text": "a", "max_length": 7})", {});
  const auto text_form = parse_text("a", {{"max_length", "7"}}, {});
  for (const auto& request : {json_form, text_form}) {
    EXPECT_EQ(request.search.max_length_factor, 0);
    EXPECT_EQ(request.search.max_length_offset, 7);
  }
  EXPECT_EQ(parse_json(R"({"text": "a", "max_length": 0})", {}).search.max_length_factor, 2);
}

// Neither the parser nor what follows may run out of stack.
TEST(Request, IsNotFooledByNesting) {
  const std::string open(1 << 20, '['), close(1 << 20, ']');
  EXPECT_THAT(error_of("{\"text\": " + open + close + "}"),
              HasSubstr("list of strings, got array"));
  EXPECT_THAT(error_of("{\"text\": \"a\", \"sampling\": " + open + close + "}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of("{\"text\": " + open), HasSubstr("not valid JSON"));
}

TEST(Request, MayHaveALongKeyThatIsNotRepeated) {
  const std::string key(900'000, 'k');
  EXPECT_EQ(error_of("{\"text\": \"a\", \"" + key + "\": 1}"), "unknown key of 900000 bytes");
  EXPECT_THROW(parse_text("a", {{key, "1"}}, {}), Error);
}

TEST(Request, CountsLinesAndAttentionBeforehand) {
  for (const std::string text : {"", "a", "a\\n", "a\\n\\nb", "\\n\\n"}) {
    const auto request = parse_json("{\"text\": [\"" + text + "\", \"c\"]}", {});
    EXPECT_EQ(count_lines(request), static_cast<int64_t>(lines_of(request).size())) << text;
  }
  EXPECT_EQ(count_lines(parse_text("", {}, {})), 0);
  EXPECT_EQ(attention_size(parse_json(R"({"text": "abc\nabcd"})", {})), 0);
  // What only the search looks at is no part of an answer.
  EXPECT_EQ(attention_size(parse_json(R"({"text": "abc\nabcd", "coverage_penalty": 0.2})", {})), 0);
  const auto wanted =
      parse_json(R"({"text": "abc\nabcd", "with_attention": true, "n_best": 2})", {});
  EXPECT_EQ(attention_size(wanted), 2 * (9 + 16));
}

TEST(Request, HasTermsOfABoundedSize) {
  json request = {{"text", "a"}, {"terms", json::array()}};
  for (int i = 0; i < 512; ++i) {
    request["terms"].push_back(
        {{"source", std::string(100, 'a')}, {"target", std::string(28, 'b')}});
  }
  EXPECT_EQ(error_of(request.dump()), "");
  request["terms"].push_back({{"source", "a"}, {"target", "b"}});
  EXPECT_EQ(error_of(request.dump()), "terms: total 65538 bytes, but at most 65536 are allowed");
}

TEST(Request, OfPlainTextHasOptionsInTheQuery) {
  const auto request =
      parse_text("a\nb", {{"beam", "3"}, {"to", "de"}, {"forbid_unk", "true"}}, {});
  EXPECT_THAT(request.texts, ElementsAre("a\nb"));
  EXPECT_EQ(request.search.beam, 3);
  EXPECT_EQ(request.to, "de");
  EXPECT_TRUE(request.search.forbid_unk);
  const auto empty = parse_text("", {}, {});
  EXPECT_THAT(lines_of(empty), IsEmpty());
  EXPECT_THROW(parse_text("a", {{"n_best", "2"}}, {}), Error);
  EXPECT_THROW(parse_text("a", {{"text", "b"}}, {}), Error);
  EXPECT_THROW(parse_text("a", {{"beam", "2"}, {"beam", "3"}}, {}), Error);
  EXPECT_THROW(parse_text("a\xff", {}, {}), Error);
  EXPECT_THROW(parse_text("a", {{"prefix", "\xff"}}, {}), Error);
  EXPECT_THAT(parse_text("a", {{"prefix", "2024"}}, {}).prefixes, ElementsAre("2024"));
  EXPECT_THAT(parse_text("\xef\xbb\xbf"
                         "a",
                         {}, {})
                  .texts,
              ElementsAre("a"));
}

TEST(Lines, AreThoseOfAllTexts) {
  const auto request =
      parse_json(R"({"text": ["a\r\nb\n", "", "c\n\nd"], "prefix": ["x", "", "y"]})", {});
  const auto lines = lines_of(request);
  ASSERT_THAT(lines, SizeIs(6));
  std::string all;
  for (const auto& line : lines) {
    all += fmt::format("{}:{}{}{} ", line.text, line.number, line.source, line.prefix);
  }
  EXPECT_EQ(all, "0:1ax 0:2b 1:1 2:1cy 2:2 2:3d ");
}

// Otherwise a request of a megabyte takes gigabytes.
TEST(Lines, ShareThePrefixOfAllTexts) {
  const json many = {{"text", std::vector<std::string>(4000, "a")},
                     {"prefix", std::string(400'000, 'x')}};
  const auto request = parse_json(many.dump(), {});
  const auto lines = lines_of(request);
  ASSERT_THAT(lines, SizeIs(4000));
  for (const auto& line : lines) EXPECT_EQ(line.prefix.data(), request.prefixes[0].data());
}

TEST(Answer, HasTheFormOfTheRequest) {
  const std::vector<decode::Translation> two = {translation({"A"}), translation({"B"})};
  const auto answer = [&](const std::string& body) {
    const auto request = parse_json(body, {});
    const auto lines = lines_of(request);
    return json::parse(answer_json(request, lines, std::span(two).first(lines.size())));
  };
  EXPECT_EQ(answer(R"({"text": "a\nb"})"), json::parse(R"({"text": "A\nB"})"));
  EXPECT_EQ(answer(R"({"text": ["a", "b"]})"), json::parse(R"({"text": ["A", "B"]})"));
  EXPECT_EQ(answer(R"({"text": []})"), json::parse(R"({"text": []})"));
  EXPECT_EQ(answer_text(two), "A\nB\n");
}

TEST(Answer, HasDetailsWhereTheyAreWanted) {
  for (const std::string wish :
       {"\"details\": true", "\"n_best\": 2", "\"with_attention\": true"}) {
    const auto request = parse_json("{\"text\": [\"a\\nb\"], " + wish + "}", {});
    const std::vector<decode::Translation> two = {translation({"A", "AA"}), translation({"B"})};
    const auto answer = json::parse(answer_json(request, lines_of(request), two));
    ASSERT_THAT(answer["lines"], SizeIs(2)) << wish;
    EXPECT_EQ(answer["lines"][1]["text"], 0);
    EXPECT_EQ(answer["lines"][1]["line"], 2);
    EXPECT_EQ(answer["lines"][0]["translations"][1]["text"], "AA");
    EXPECT_EQ(answer["lines"][0]["translations"][0].contains("attention"),
              request.search.with_attention);
  }
}

TEST(Answer, NamesLinesWhoseTranslationIsImplausible) {
  const auto request = parse_json(R"({"text": ["a\nb"]})", {});
  std::vector<decode::Translation> two = {translation({"A"}), translation({"B"})};
  EXPECT_FALSE(json::parse(answer_json(request, lines_of(request), two)).contains("warnings"));
  two[1].outputs[0].doubts.is_short = true;
  EXPECT_EQ(json::parse(answer_json(request, lines_of(request), two))["warnings"],
            json::parse(R"([{"text": 0, "line": 2, "warnings": ["short"]}])"));
}

TEST(Request, MayBeADocument) {
  const auto request = parse_json(R"({"text": "<p>a\nb</p>", "markup": "html"})", {});
  EXPECT_THAT(lines_of(request), SizeIs(1));
  EXPECT_EQ(count_lines(request), 1);
  EXPECT_EQ(parse_json(R"({"text": "a", "sentences": "keep"})", {}).lines.sentences,
            decode::Sentences::keep);
  EXPECT_THAT([] { parse_json(R"({"text": "a", "markup": "xml"})", {}); },
              testing::ThrowsMessage<Error>(HasSubstr("markup")));
}

}  // namespace
}  // namespace residual::serve
