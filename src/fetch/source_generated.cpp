#include <array>

#include "base/random.h"
#include "fetch/sources.h"
#include "fetch/split.h"

// Parallel text without a network: sentences of a small English grammar and their translations into
// a made-up language (art, ISO 639-2's code for such). What has to be learnt is what real pairs ask
// for: a lexicon, agreement, case, tense, and words and clauses that change places.
//
//   the old teachers did not visit a river near this town
//   -> river-OBJECT a  town this near  teacher-PLURAL the old-PLURAL  not-visit-PAST
namespace residual::fetch {
namespace {

using Words = std::vector<std::string_view>;

const Words kNouns = {
    "teacher", "doctor",  "sailor", "farmer",   "painter", "singer", "friend", "brother", "sister",
    "girl",    "boy",     "guest",  "king",     "queen",   "dog",    "cat",    "horse",   "bird",
    "bear",    "tiger",   "river",  "mountain", "forest",  "island", "lake",   "garden",  "street",
    "bridge",  "house",   "tower",  "castle",   "school",  "shop",   "window", "door",    "table",
    "chair",   "lamp",    "letter", "book",     "picture", "song",   "ship",   "train",   "wagon",
    "machine", "village", "town",   "farm",     "flower",  "tree",   "stone",  "coin",    "ring"};
const Words kVerbs = {"follow", "help",    "paint", "clean", "visit",   "remember",
                      "answer", "guard",   "want",  "push",  "collect", "protect",
                      "repair", "mention", "join",  "greet", "need",    "defend",
                      "enter",  "admire",  "open",  "count", "call",    "thank"};
const Words kAdjectives = {"old",  "young",  "small", "large", "quiet", "loud", "green",  "red",
                           "blue", "clever", "tired", "happy", "angry", "rich", "honest", "strange",
                           "cold", "warm",   "tall",  "proud", "brave", "calm", "empty",  "famous"};
const Words kPlaces = {"near", "behind", "under", "without", "before", "after", "beside", "above"};
const Words kJoints = {"and", "but", "while", "because"};
const Words kTimes = {"today", "yesterday", "tomorrow"};  // by tense
const Words kOne = {"the", "a", "this", "that"};
const Words kMany = {"the", "some", "these", "those"};

enum class Role { subject, object, other };

struct Phrase {
  std::string english, art;
  bool plural = false;
};

// One sentence: random(seed) at stream `sentence`, each choice at the next position.
class Speaker {
 public:
  explicit Speaker(uint64_t sentence) : random_(kSeed, sentence) {}

  SentencePair sentence() {
    Phrase first = clause();
    if (chance(70)) return finished(first);
    const size_t joint = choose(kJoints.size());
    const Phrase second = clause();
    const std::string word = root(5, joint);
    // A reason comes before what it explains.
    const bool turned = kJoints[joint] == "because";
    const Phrase& lead = turned ? second : first;
    const Phrase& end = turned ? first : second;
    return finished({.english = join({first.english, kJoints[joint], second.english}),
                     .art = join({lead.art, word, end.art})});
  }

 private:
  static constexpr uint64_t kSeed = 14;

  size_t choose(size_t n) { return static_cast<size_t>(random_.below(position_++, n)); }
  bool chance(size_t percent) { return choose(100) < percent; }

  static std::string join(std::initializer_list<std::string_view> words) {
    std::string out;
    for (const std::string_view word : words) {
      if (!word.empty()) (out += out.empty() ? "" : " ") += word;
    }
    return out;
  }

  static SentencePair finished(Phrase phrase) {
    for (std::string* text : {&phrase.english, &phrase.art}) {
      text->front() = static_cast<char>(text->front() - 'a' + 'A');
      *text += '.';
    }
    return {phrase.english, phrase.art};
  }

  // The made-up word of a word list's i-th entry: open syllables, the same ones for ever.
  static std::string root(uint64_t list, uint64_t i) {
    constexpr std::string_view kConsonants = "bdfghklmnprstvz", kVowels = "aeiou";
    const Random random(kSeed, ~(list * 1000 + i));
    std::string out;
    for (uint64_t k = 0; k < 2 + list % 2; ++k) {
      out += kConsonants[random.below(2 * k, kConsonants.size())];
      out += kVowels[random.below(2 * k + 1, kVowels.size())];
    }
    return out += kConsonants[random.below(9, kConsonants.size())];
  }

  // Nouns are of three genders; articles and adjectives agree with them in gender and number.
  Phrase noun_phrase(Role role) {
    const bool plural = chance(35);
    const Words& articles = plural ? kMany : kOne;
    const size_t noun = choose(kNouns.size()), article = choose(articles.size());
    const std::string ending = std::string(1, "oai"[noun % 3]) + (plural ? "r" : "");

    std::string english, art = root(0, noun) + ending + (role == Role::object ? "n" : "");
    (art += ' ') += root(2, article) + ending;
    if (chance(50)) {
      const size_t adjective = choose(kAdjectives.size());
      english = kAdjectives[adjective];
      (art += ' ') += root(1, adjective) + ending;
    }
    (english += english.empty() ? "" : " ") += kNouns[noun];
    if (plural) english += 's';
    const bool vowel = std::string_view("aeiou").find(english.front()) != std::string_view::npos;
    const std::string_view word = articles[article] == "a" && vowel ? "an" : articles[article];
    return {.english = join({word, english}), .art = art, .plural = plural};
  }

  // English: time, subject, verb, object, place. Art: time, object, place, subject, verb.
  Phrase clause() {
    const size_t tense = choose(3);
    const bool negated = chance(20), timed = chance(25);
    const Phrase subject = noun_phrase(Role::subject), object = noun_phrase(Role::object);
    const Phrase verb = verb_phrase(tense, negated, subject.plural);
    Phrase place;
    if (chance(40)) {
      const size_t i = choose(kPlaces.size());
      place = noun_phrase(Role::other);
      place.english = join({kPlaces[i], place.english});
      place.art = join({place.art, root(4, i)});
    }
    return {
        .english = join({timed ? kTimes[tense] : "", subject.english, verb.english, object.english,
                         place.english}),
        .art = join({timed ? root(6, tense) : "", object.art, place.art, subject.art, verb.art})};
  }

  Phrase verb_phrase(size_t tense, bool negated, bool plural) {
    const size_t i = choose(kVerbs.size());
    const std::string verb(kVerbs[i]);
    const std::string past = verb + (verb.back() == 'e' ? "d" : "ed");
    const std::string present = plural ? verb : verb + (verb.ends_with("sh") ? "es" : "s");
    const std::array<std::string, 3> affirmed = {present, past, "will " + verb};
    const std::array<std::string, 3> denied = {(plural ? "do not " : "does not ") + verb,
                                               "did not " + verb, "will not " + verb};
    constexpr std::array<std::string_view, 3> kEndings = {"e", "et", "essi"};
    return {.english = negated ? denied[tense] : affirmed[tense],
            .art = (negated ? "ne" : "") + root(3, i) + std::string(kEndings[tense])};
  }

  Random random_;
  uint64_t position_ = 0;
};

}  // namespace

void fetch_generated(const FetchOptions& options, FetchedSet& set) {
  constexpr size_t kTrain = 30000;
  only_pair(options, "en", "art");
  std::vector<SentencePair> pairs;
  for (uint64_t i = 0; i < kTrain + options.dev + options.test; ++i) {
    pairs.push_back(Speaker(i).sentence());
  }
  set.write(split_by_content(std::move(pairs), options.dev, options.test), "en", "art");
}

}  // namespace residual::fetch
