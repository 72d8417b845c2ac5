#include "serve/compat/libretranslate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/running.h"

namespace residual::serve {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<model::Direction> kDirections = {
    {"de", "en", ""}, {"en", "de", ""}, {"fr", "en", ""}};

Request form(const std::string& body) {
  Request request{.body = body};
  request.headers.set(boost::beast::http::field::content_type, "application/x-www-form-urlencoded");
  return request;
}
Request object(const json& body) { return {.body = body.dump()}; }

LibreRequest parsed(const Request& request) {
  EXPECT_TRUE(is_libre(request));
  return parse_libre(request, {}, kDirections);
}

decode::Translation translation(const std::vector<std::string>& outputs) {
  decode::Translation made;
  for (const auto& text : outputs) made.outputs.push_back({.text = text});
  return made;
}

TEST(LibreTranslate, IsToldFromOurFormByItsKey) {
  EXPECT_TRUE(is_libre(object({{"q", "a"}})));
  EXPECT_TRUE(is_libre(form("q=a")));
  EXPECT_FALSE(is_libre(object({{"text", "\"q\""}})));
  EXPECT_FALSE(is_libre(object({{"text", {"q"}}})));
  EXPECT_FALSE(is_libre(object({{"text", "a"}, {"q", "a"}})));  // ours, with an unknown key
  EXPECT_FALSE(is_libre(form("text=a")));
  EXPECT_FALSE(is_libre({.body = "q=a"}));
  EXPECT_FALSE(is_libre({.body = "{\"q\": "}));
}

TEST(LibreTranslate, TakesObjectsAndForms) {
  const json body = {{"q", "Guten Tag"}, {"source", "de"}, {"target", "en"}, {"api_key", "k"}};
  for (const auto& request :
       {object(body), form("q=Guten+Tag&source=de&target=en&api_key=k&secret=x")}) {
    const auto wanted = parsed(request);
    EXPECT_THAT(wanted.request.texts, ElementsAre("Guten Tag"));
    EXPECT_FALSE(wanted.request.is_list);
    EXPECT_EQ(wanted.request.from, "de");
    EXPECT_EQ(wanted.request.to, "en");
    EXPECT_EQ(wanted.api_key, "k");
    EXPECT_FALSE(wanted.detected);
  }
  EXPECT_THAT(parsed(form("q=a&q=b&source=de&target=en")).request.texts, ElementsAre("a", "b"));
  EXPECT_TRUE(parsed(object({{"q", {"a"}}, {"source", "de"}, {"target", "en"}})).request.is_list);
}

TEST(LibreTranslate, DetectsTheSourceAmongTheDirectionsToTheTarget) {
  const auto wanted = parsed(
      object({{"q", "Bonjour, comment allez-vous ?"}, {"source", "auto"}, {"target", "en"}}));
  EXPECT_EQ(wanted.request.from, "fr");
  ASSERT_TRUE(wanted.detected);
  EXPECT_GT(wanted.detected->confidence, 50);
  // There is no choice.
  EXPECT_EQ(parsed(object({{"q", "x"}, {"source", "auto"}, {"target", "de"}})).request.from, "en");
  EXPECT_THAT(
      [] {
        parsed(object({{"q", "x"}, {"source", "auto"}, {"target", "en"}}));
      },
      ThrowsMessage<Error>(HasSubstr("source: the language of the text is unclear")));
  EXPECT_THAT(
      [] {
        parsed(object({{"q", "x"}, {"source", "auto"}, {"target", "xx"}}));
      },
      ThrowsMessage<Error>(HasSubstr("target: the model does not translate to xx")));
}

TEST(LibreTranslate, SaysWhatIsWrong) {
  const auto error = [](const json& more) {
    json body = {{"q", "a"}, {"source", "de"}, {"target", "en"}};
    body.update(more);
    return [body] { parsed(object(body)); };
  };
  EXPECT_THAT(error({{"format", "pdf"}}), ThrowsMessage<Error>(HasSubstr("format: expected text")));
  EXPECT_THAT(error({{"alternatives", -1}}), ThrowsMessage<Error>(HasSubstr("alternatives")));
  EXPECT_THAT(error({{"alternatives", 62}}), ThrowsMessage<Error>(HasSubstr("from 0 to 61")));
  EXPECT_THAT(error({{"source", 3}}), ThrowsMessage<Error>(HasSubstr("source: expected a string")));
  EXPECT_THAT(error({{"q", 3}}), ThrowsMessage<Error>(HasSubstr("got number")));
  EXPECT_THAT([] { parsed(form("q=%ff&target=en")); },
              ThrowsMessage<Error>(HasSubstr("q: not valid UTF-8")));
}

TEST(LibreTranslate, AnswersInItsForm) {
  const auto answer = [](const LibreRequest& wanted,
                         const std::vector<decode::Translation>& translations) {
    const auto lines = lines_of(wanted.request);
    return json::parse(answer_libre(wanted, lines, translations).body);
  };
  const json base = {{"source", "de"}, {"target", "en"}};
  json one = base, list = base;
  one["q"] = "a\nb";
  EXPECT_EQ(answer(parsed(object(one)), {translation({"A"}), translation({"B"})}),
            json::parse(R"({"translatedText": "A\nB"})"));
  list["q"] = {"a", "b"};
  list["alternatives"] = 2;
  EXPECT_EQ(
      answer(parsed(object(list)), {translation({"A", "A2", "A3"}), translation({"B", "B2"})}),
      json::parse(R"({"translatedText": ["A", "B"], "alternatives": [["A2", "A3"], ["B2"]]})"));
  one["source"] = "auto";
  one["target"] = "de";
  const auto detected = answer(parsed(object(one)), {translation({"A"}), translation({"B"})});
  EXPECT_EQ(detected["detectedLanguage"]["language"], "en");
}

TEST(LibreTranslate, ListsLanguagesWithTheirTargets) {
  EXPECT_EQ(json::parse(libre_languages(kDirections).body), json::parse(R"([
      {"code": "de", "name": "German", "targets": ["en"]},
      {"code": "en", "name": "English", "targets": ["de"]},
      {"code": "fr", "name": "French", "targets": ["en"]}])"));
  EXPECT_EQ(libre_languages({}).body, "[]\n");
  const auto settings = json::parse(libre_settings(kDirections, true).body);
  EXPECT_EQ(settings["keyRequired"], true);
  EXPECT_EQ(settings["language"]["target"]["code"], "en");
}

TEST(LibreTranslate, DetectsLanguagesThatTheModelTranslates) {
  const auto found =
      json::parse(answer_detection("Guten Morgen, wie geht es Ihnen?", kDirections).body);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["language"], "de");
  EXPECT_GT(found[0]["confidence"], 50);
  EXPECT_EQ(json::parse(answer_detection("x", kDirections).body).size(), 1u);
  EXPECT_THROW(parse_detection(object({{"text", "x"}})), Error);
}

// Beside our own routes, in one server.
TEST(LibreTranslate, AnswersOverHttp) {
  const Running server;
  const std::string ours = server.answer({{"text", "w1 w2"}})["text"];
  const auto expect = [&](const Received& got) {
    EXPECT_EQ(got.status, 200) << got.body;
    EXPECT_EQ(json::parse(got.body)["translatedText"], ours);
  };
  expect(server.post(R"({"q": "w1 w2", "source": "auto"})"));
  expect(server.post("q=w1+w2&format=text", "application/x-www-form-urlencoded"));
  EXPECT_EQ(server.get("/languages"), "[]\n");  // the model has no directions
  EXPECT_EQ(server.post("q=w1", "application/x-www-form-urlencoded", "/detect").status, 200);
  EXPECT_EQ(json::parse(server.get("/frontend/settings"))["keyRequired"], false);
}

}  // namespace
}  // namespace residual::serve
