#include "decode/text/placing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "text/whitespace.h"

namespace residual::decode {
namespace {

using text::Mark;
using text::Markup;
using Kind = Mark::Kind;

SentenceMark tag(Kind kind, size_t at, const std::string& raw, size_t partner) {
  return {.mark = {.kind = kind, .at = at, .raw = raw, .partner = partner}};
}
SentenceMark point(size_t at, const std::string& raw) {
  return {.mark = {.kind = Kind::point, .at = at, .raw = raw, .is_word = true},
          .has_space_before = true,
          .has_space_after = true};
}

// A translation whose pieces are its words.
AlignedText words(const std::string& text, std::vector<size_t> sources, size_t source_pieces) {
  AlignedText made = {.text = text, .sources = std::move(sources), .source_pieces = source_pieces};
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == ' ') made.ends.push_back(i);
  }
  return made;
}

std::string placed(const AlignedText& text, const std::vector<SentenceMark>& marks) {
  std::string out;
  append_with_marks(text, marks, Markup::html, out);
  return out;
}

TEST(Placing, TagsMoveWithTheirWords) {
  const std::vector<SentenceMark> around_first = {tag(Kind::open, 0, "<b>", 1),
                                                  tag(Kind::close, 1, "</b>", 0)};
  EXPECT_EQ(placed(words("x y z", {2, 1, 0}, 3), around_first), "x y <b>z</b>");
  EXPECT_EQ(placed(words("x y z", {0, 0, 1}, 3), around_first), "<b>x y</b> z");
  const std::vector<SentenceMark> two = {
      tag(Kind::open, 0, "<b>", 1), tag(Kind::close, 1, "</b>", 0), tag(Kind::open, 1, "<i>", 3),
      tag(Kind::close, 3, "</i>", 2)};
  EXPECT_EQ(placed(words("x y z", {1, 2, 0}, 3), two), "<i>x y</i> <b>z</b>");
}

TEST(Placing, AnElementAroundAllStaysAroundAll) {
  const std::vector<SentenceMark> all = {tag(Kind::open, 0, "<b>", 1),
                                         tag(Kind::close, 3, "</b>", 0)};
  EXPECT_EQ(placed(words("x y z", {1, 1, 1}, 3), all), "<b>x y z</b>");
}

TEST(Placing, UnknownAlignmentIsTakenInProportion) {
  const std::vector<SentenceMark> second = {tag(Kind::open, 1, "<b>", 1),
                                            tag(Kind::close, 2, "</b>", 0)};
  EXPECT_EQ(placed(words("w x y z", {}, 2), second), "w x <b>y z</b>");
}

TEST(Placing, PointsStandBesideTheWordTheyStoodBeside) {
  EXPECT_EQ(placed(words("x y z", {2, 1, 0}, 3), {point(1, "{n}")}), "x {n} y z");
  EXPECT_EQ(placed(words("x y z", {0, 1, 2}, 3), {point(3, "{n}")}), "x y z {n}");
  EXPECT_EQ(placed(words("x", {0}, 1), {point(0, "{n}")}), "{n} x");
}

TEST(Placing, TextIsEscapedAndMarksAreNot) {
  EXPECT_EQ(placed(words("a<b &", {0, 1}, 2), {point(0, "&copy;")}), "&copy; a&lt;b &amp;");
}

// <b> began before the sentence, <i> ends after it.
TEST(Placing, ElementsThatCrossTheSentenceStayAtItsEdges) {
  const std::vector<SentenceMark> marks = {tag(Kind::close, 1, "</b>", Mark::kNone),
                                           tag(Kind::open, 2, "<i>", Mark::kNone)};
  EXPECT_EQ(placed(words("x y z", {0, 1, 2}, 3), marks), "x</b> y <i>z");
  EXPECT_EQ(placed(words("x y z", {2, 1, 0}, 3), marks), "</b>x y z<i>");
}

// Random balanced marks, any text, any alignment.
struct Case {
  std::vector<SentenceMark> marks;
  std::vector<std::string> names;  // that elements from outside have
  AlignedText text;
  std::string owner;
};

Case random_case(uint64_t seed) {
  const Random random(seed, 7);
  uint64_t draws = 0;
  const auto draw = [&](size_t n) {
    return static_cast<size_t>(random.uniform(draws++) * static_cast<double>(n));
  };
  Case made;
  const size_t pieces = 1 + draw(12);
  std::vector<size_t> open;
  size_t at = 0, name = 0, outside = 3 * draw(2);
  for (size_t i = 0, count = draw(14); i < count; ++i) {
    at = std::min(pieces, at + draw(3));
    const size_t what = draw(4);
    if (what == 0) {
      made.marks.push_back(point(at, "{" + std::to_string(i) + "}"));
    } else if (what == 1 && !open.empty()) {
      const size_t partner = open.back();
      open.pop_back();
      const std::string raw = "</" + made.marks[partner].mark.raw.substr(1);
      made.marks[partner].mark.partner = made.marks.size();
      made.marks.push_back(tag(Kind::close, at, raw, partner));
    } else if (what == 1 && outside > 0) {
      made.names.insert(made.names.begin(), "o" + std::to_string(outside));
      made.marks.push_back(
          tag(Kind::close, at, "</o" + std::to_string(outside--) + ">", Mark::kNone));
    } else {
      open.push_back(made.marks.size());
      made.marks.push_back(tag(Kind::open, at, "<n" + std::to_string(name++) + ">", Mark::kNone));
    }
  }
  const size_t count = draw(10);
  for (size_t i = 0; i < count; ++i) made.owner += (i > 0 ? " w" : "w") + std::to_string(i);
  std::vector<size_t> sources;
  for (size_t i = 0; i < count; ++i) sources.push_back(draw(pieces));
  if (draw(4) == 0) sources.clear();
  made.text = words(made.owner, sources, pieces);
  if (count == 0) made.text.ends.clear();
  made.text.text = made.owner;
  return made;
}

TEST(Placing, EveryMarkOccursOnceTagsNestAndTextStays) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Case c = random_case(seed);
    c.text.text = c.owner;
    const std::string out = placed(c.text, c.marks);
    std::string plain;
    std::vector<std::string> open = c.names, found;
    for (size_t i = 0; i < out.size();) {
      if (out[i] != '<' && out[i] != '{') {
        plain += out[i++];
        continue;
      }
      const size_t end = out.find_first_of(">}", i) + 1;
      const std::string raw = out.substr(i, end - i);
      found.push_back(raw);
      i = end;
      if (raw[0] == '{') continue;
      if (raw[1] != '/') {
        open.push_back(raw.substr(1, raw.size() - 2));
      } else {
        ASSERT_FALSE(open.empty()) << seed << ": " << out;
        EXPECT_EQ(open.back(), raw.substr(2, raw.size() - 3)) << seed << ": " << out;
        open.pop_back();
      }
    }
    std::vector<std::string> wanted, left;
    bool has_points = false;
    for (const auto& each : c.marks) {
      wanted.push_back(each.mark.raw);
      has_points |= each.mark.kind == Kind::point;
    }
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    EXPECT_EQ(found, wanted) << seed << ": " << out;
    for (const auto& each : c.marks) {
      const bool stays_open = each.mark.kind == Kind::open && each.mark.partner == Mark::kNone;
      if (stays_open) left.push_back(each.mark.raw.substr(1, each.mark.raw.size() - 2));
    }
    EXPECT_EQ(open, left) << seed << ": " << out;
    const auto squeezed = [](const std::string& text) {
      std::string words;
      text::for_each_token(text, [&](std::string_view w) { words += std::string(w) + " "; });
      return words;
    };
    EXPECT_EQ(squeezed(plain), squeezed(c.owner)) << seed << ": " << out;
    EXPECT_EQ(has_points ? c.owner : plain, c.owner) << seed << ": " << out;
  }
}

}  // namespace
}  // namespace residual::decode
