#include "text/markup/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace residual::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What is translated, marks as [raw].
std::vector<std::string> passages(const std::string& text, Markup markup = Markup::html) {
  const Document document = parse_document(text, markup);
  std::vector<std::string> found;
  for (const auto& passage : document.passages) {
    std::string shown = passage.text;
    for (size_t i = passage.marks.size(); i-- > 0;) {
      shown.insert(passage.marks[i].at, "[" + passage.marks[i].raw + "]");
    }
    found.push_back(shown);
  }
  return found;
}

TEST(Markup, PassagesEndAtBlocksAndHoldInlineTags) {
  EXPECT_THAT(passages("<p>Hello <b>big</b> world</p><ul><li>One<li>Two</ul>"),
              ElementsAre("Hello [<b>]big[</b>] world", "One", "Two"));
  EXPECT_THAT(passages("a<br>b<hr/>c"), ElementsAre("a", "b", "c"));
}

TEST(Markup, ScriptsStylesAndPreformattedTextStay) {
  EXPECT_THAT(passages("<script>if (a < b) { x('</b>'); }</script><style>p > a {}</style>"
                       "<pre>one <b>two</b></pre><p translate=\"no\">three</p>"
                       "<!doctype html><textarea>four</textarea>"),
              IsEmpty());
}

TEST(Markup, CodeAndImagesAndCommentsArePoints) {
  EXPECT_THAT(
      passages("Run <code>a <b>b</b></code> now <img alt='x > y'> or <!-- c --> never"),
      ElementsAre("Run [<code>a <b>b</b></code>] now [<img alt='x > y'>] or [<!-- c -->] never"));
}

TEST(Markup, EntitiesAreCharactersOrSigns) {
  EXPECT_THAT(passages("M&uuml;ller &amp; S&#246;hne &copy; don&rsquo;t &bogus; AT&T"),
              ElementsAre("Müller & Söhne [&copy;] don’t [&bogus;] AT&T"));
}

TEST(Markup, UrlsAddressesAndPlaceholdersStay) {
  for (const auto markup : {Markup::text, Markup::html}) {
    EXPECT_THAT(
        passages("See https://a.b/c?d=e. Mail x.y@z.org, {name}, ${n} and {{ m }}", markup),
        ElementsAre("See [https://a.b/c?d=e]. Mail [x.y@z.org], [{name}], [${n}] and [{{ m }}]"));
    EXPECT_THAT(passages("%s has %1$d, %(n)s, %5.2f and %2 of 100% or 50%d.", markup),
                ElementsAre("[%s] has [%1$d], [%(n)s], [%5.2f] and [%2] of 100% or 50%d."));
  }
}

TEST(Markup, AnythingIsADocument) {
  EXPECT_THAT(passages("a < b and c<d, <3, </ x"), ElementsAre("a < b and c<d, <3, </ x"));
  EXPECT_THAT(passages("a <b c"), ElementsAre("a <b c"));
  EXPECT_THAT(passages("x <!-- y"), ElementsAre("x [<!-- y]"));
}

// Tags without partners, and those around borders, are borders.
TEST(Markup, PassagesAreBalanced) {
  EXPECT_THAT(passages("a <b>b <i>c</b> d</i> e"), ElementsAre("a ", "b ", "c", " d", " e"));
  EXPECT_THAT(passages("<a>x<p>y</p>z</a>"), ElementsAre("x", "y", "z"));
}

// Before, text and marks of all passages, then after, are the document: nothing is lost.
TEST(Markup, NoByteOfARandomDocumentIsLost) {
  const std::vector<std::string> bits = {
      "<b>",  "</b>", "<i a='>'>", "</i>", "<p>", "</p>",   "word",     " ",
      "&",    "<",    ">",         "{x}",  "%s",  "<br>",   "<code>",   "</code>",
      "<!--", "-->",  "\"",        "é",    "\n",  "x@y.zz", "<script>", "</script>"};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Random random(seed, 1);
    std::string text;
    for (uint64_t i = 0; i < seed % 40; ++i) {
      text += bits[static_cast<size_t>(random.uniform(i) * static_cast<double>(bits.size()))];
    }
    const Document document = parse_document(text, Markup::html);
    std::string all;
    for (const auto& passage : document.passages) {
      all += passage.before;
      size_t at = 0;
      std::vector<size_t> open;
      for (size_t i = 0; i < passage.marks.size(); ++i) {
        const Mark& mark = passage.marks[i];
        all += passage.text.substr(at, mark.at - at) + mark.raw;
        at = mark.at;
        if (mark.kind == Mark::Kind::open) open.push_back(i);
        if (mark.kind != Mark::Kind::close) continue;
        ASSERT_FALSE(open.empty()) << text;
        EXPECT_EQ(mark.partner, open.back()) << text;
        open.pop_back();
      }
      EXPECT_THAT(open, IsEmpty()) << text;
      all += passage.text.substr(at);
    }
    EXPECT_EQ(all + std::string(document.after), text);
  }
}

TEST(Markup, HostileDocumentsTakeTimeThatGrowsWithTheirSize) {
  for (const std::string bit : {"<a ", "<b>", "</b>x", "<code>", "a@", "{", "<!--", "<a='", "a."}) {
    std::string text = "x";
    for (int i = 0; i < 50'000; ++i) text += bit;
    parse_document(text, Markup::html);
  }
}

}  // namespace
}  // namespace residual::text
