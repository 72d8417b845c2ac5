#include "serve/compat/language.h"

#include <gtest/gtest.h>

namespace residual::serve {
namespace {

std::string best_of(const std::string& text, const std::vector<std::string>& languages) {
  return detect_language(text, languages)[0].language;
}

TEST(Detection, FindsTheLanguageAmongThoseGiven) {
  const std::vector<std::string> all = {"en", "de", "fr", "tr", "he", "nb"};
  EXPECT_EQ(best_of("Guten Morgen, wie geht es Ihnen heute?", all), "de");
  EXPECT_EQ(best_of("Good morning, how are you today?", all), "en");
  EXPECT_EQ(best_of("Bonjour, comment allez-vous ce matin ?", all), "fr");
  EXPECT_EQ(best_of("Günaydın, bugün nasılsınız?", all), "tr");
  EXPECT_EQ(best_of("בוקר טוב, מה שלומך היום?", all), "he");  // which the library calls iw
}

TEST(Detection, KnowsLanguagesByOtherCodes) {
  const std::string text = "Guten Morgen, wie geht es Ihnen heute?";
  EXPECT_EQ(best_of(text, {"en_GB", "de_DE"}), "de_DE");
  EXPECT_EQ(best_of(text, {"eng", "deu"}), "deu");
}

TEST(Detection, IsNotConfidentWithoutASign) {
  for (const std::string text : {"", "1234 5678", "a b c"}) {
    EXPECT_EQ(detect_language(text, std::vector<std::string>{"en", "de"})[0].confidence, 0) << text;
  }
  EXPECT_EQ(
      detect_language("Guten Morgen, meine Damen", std::vector<std::string>{"ab"})[0].confidence,
      0);
  EXPECT_TRUE(detect_language("text", {}).empty());
}

TEST(Detection, LooksAtTheBeginningOfALongText) {
  std::string text;
  while (text.size() < 2 << 20) text += "Ein längerer Satz über Äpfel und Öl. ";
  EXPECT_EQ(best_of(text, {"en", "de"}), "de");
}

TEST(LanguageName, IsEnglish) {
  EXPECT_EQ(language_name("de"), "German");
  EXPECT_EQ(language_name("pt_BR"), "Portuguese (Brazil)");
  EXPECT_EQ(language_name("qx"), "qx");
  EXPECT_EQ(language_name(""), "");
}

}  // namespace
}  // namespace residual::serve
