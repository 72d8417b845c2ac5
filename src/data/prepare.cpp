#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "data/binarize.h"
#include "data/preparing/prepare_text.h"
#include "data/stages.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

// The words, the pieces and the ids of all of the text, beside each other.
constexpr uint64_t kDiskFactor = 6;
constexpr int32_t kNarrowIds = 65536;  // that fit 16 bits

int64_t signed_count(uint64_t n) { return static_cast<int64_t>(n); }

std::string tag(const std::string& language) { return fmt::format("<2{}>", language); }

fs::path parent_of(const fs::path& directory) {
  const fs::path path = directory.has_filename() ? directory : directory.parent_path();
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void remove(const PairFiles& files) {
  for (const auto& file : {files.source, files.target, files.numbers}) fs::remove(file);
}

// The state that the steps share; run() is their order.
class Preparation {
 public:
  Preparation(const Recipe& recipe, const PrepareOptions& options)
      : recipe_(recipe), options_(options), pairs_(language_pairs(recipe)) {
    manifest_.residual = version();
    manifest_.commit = commit();
    manifest_.recipe = recipe;
  }

  Manifest run() {
    find_input();
    require_writable(parent_of(options_.output));
    AtomicDirectory directory(options_.output, options_.force, "prepared.toml");
    directory_ = directory.path();
    look_at_input();

    const fs::path scratch = directory_ / "work";
    fs::create_directory(scratch);
    const Workshop workshop{recipe_, options_.invalid, scratch};
    make_words(workshop);
    const Subwords subwords = options_.like ? Subwords(recipe_, *options_.like, languages())
                                            : Subwords(recipe_, training_texts());
    make_pieces(workshop, subwords);
    if (options_.like) {
      take_vocabularies();
    } else {
      build_vocabularies();
    }
    for (const auto& part : parts_) finish(part);
    fs::remove_all(scratch);

    subwords.save(directory_);
    note_cleaning();
    manifest_.files = files_in(directory_);
    replace_file(directory_ / "prepared.toml", sealed(to_toml(manifest_)));
    directory.commit();
    return manifest_;
  }

 private:
  void find_input() {
    for (const auto& pair : pairs_) {
      add_part("train", pair, recipe_.train, true);
      if (recipe_.split.dev_every > 0) add_part("dev", pair, recipe_.train, true);
      add_part("dev", pair, recipe_.dev, false);
      add_part("test", pair, recipe_.test, false);
    }
    uint64_t bytes = 0;
    for (const auto& input : manifest_.inputs) bytes += static_cast<uint64_t>(input.bytes);
    require_disk_space(options_.output, (recipe_.both_directions ? 2 : 1) * kDiskFactor * bytes);
    const std::string written = to_toml(manifest_);
    require(text::find_invalid_utf8(written) == std::string::npos,
            "the recipe or the name of an input is not UTF-8");
    if (!options_.force) return;
    const fs::path output = fs::weakly_canonical(options_.output);
    for (const auto& input : manifest_.inputs) {
      const fs::path inside = fs::weakly_canonical(input.file).lexically_relative(output);
      require(inside.empty() || *inside.begin() == "..",
              "{}: is inside {}, which --force replaces with all its contents; move it, or give "
              "another output",
              input.file, options_.output.string());
    }
  }

  void add_part(const char* split, const LanguagePair& pair, const std::vector<std::string>& names,
                bool is_training_text) {
    if (names.empty()) return;
    CorpusPart part{.pair = pair, .split = split, .is_training_text = is_training_text};
    for (const auto& name : names) {
      const std::string path = path_of(name, pair);
      // Some pairs of a large collection come without dev and test.
      if (pairs_.size() > 1 && !is_training_text && !fs::exists(path + "." + pair.source) &&
          !fs::exists(path + "." + pair.target) && !fs::exists(path)) {
        log::warn("{}: no {} text; {}.{} does not exist", pair.name(), split, path, pair.source);
        return;
      }
      part.raw.push_back(find_pair_files(path, pair.source, pair.target, recipe_.tsv_columns));
    }
    const bool is_new = part.split == "train" || !is_training_text;
    for (const auto& input : part.raw) {
      if (is_new) note_input(input);
    }
    parts_.push_back(std::move(part));
  }

  std::string path_of(std::string name, const LanguagePair& pair) const {
    constexpr std::string_view kPair = "{pair}";
    for (size_t at; (at = name.find(kPair)) != std::string::npos;) {
      name.replace(at, kPair.size(), pair.name());
    }
    return (fs::path(recipe_.data) / name).string();
  }

  void note_input(const PairFiles& input) {
    for (const auto& path : input.files()) {
      manifest_.inputs.push_back(input_at(path));
    }
  }

  // Dev and test first, since training text is compared with them.
  void look_at_input() {
    for (const bool training : {false, true}) {
      for (auto& part : parts_) {
        if (part.is_training_text != training || (training && part.split == "dev")) continue;
        HeldOut& held_out = held_out_[part.pair.name()];
        const Inspection found =
            inspect(part.label(), part.raw, options_.invalid, training ? &held_out : nullptr,
                    training ? nullptr : &held_out);
        require(found.pairs > 0, "{}: has no lines", part.raw[0].source.string());
        for (const auto& warning : warnings(part.label(), found)) log::warn("{}", warning);
        part.pairs = found.pairs;
      }
    }
  }

  void make_words(const Workshop& workshop) {
    for (auto& part : parts_) {
      if (!part.is_training_text) held_out_words(workshop, part);
      if (part.split != "train") continue;
      const auto dev = std::find_if(parts_.begin(), parts_.end(), [&](const CorpusPart& other) {
        return other.is_training_text && other.split == "dev" &&
               other.pair.name() == part.pair.name();
      });
      training_words(workshop, held_out_[part.pair.name()], part,
                     dev == parts_.end() ? nullptr : &*dev, verdicts_[part.pair.name()]);
      require_pairs(part);
    }
  }

  std::map<std::string, std::vector<fs::path>> training_texts() const {
    std::map<std::string, std::vector<fs::path>> texts;
    for (const auto& part : parts_) {
      if (part.split != "train") continue;
      texts[part.pair.source].push_back(part.words.source);
      texts[part.pair.target].push_back(part.words.target);
    }
    return texts;
  }

  void make_pieces(const Workshop& workshop, const Subwords& subwords) {
    for (auto& part : parts_) {
      to_pieces(workshop, subwords, part, verdicts_[part.pair.name()],
                part.split == "train" ? &counts_ : nullptr);
      remove(part.words);
      if (part.split == "train") require_pairs(part);
      if (part.pairs == 0) log::warn("{}: has no pairs", part.label());
    }
  }

  static void require_pairs(const CorpusPart& part) {
    require(part.pairs > 0, "{}: cleaning left no pairs to train on; see [clean] in the recipe",
            part.raw[0].source.string());
  }

  std::set<std::string> languages() const {
    std::set<std::string> all;
    for (const auto& pair : pairs_) all.insert({pair.source, pair.target});
    return all;
  }

  void build_vocabularies() {
    const PieceCounts::Sides counts = counts_.total();
    if (recipe_.vocabulary.joined) {
      text::WordCounts all = counts.source;
      all.add(counts.target);
      add_vocabulary("vocabulary.txt", all, languages());
    } else {
      const LanguagePair& pair = pairs_[0];
      add_vocabulary(fmt::format("vocabulary.{}.txt", pair.source), counts.source, {pair.source});
      add_vocabulary(fmt::format("vocabulary.{}.txt", pair.target), counts.target, {pair.target});
    }
  }

  void add_vocabulary(const std::string& file, const text::WordCounts& counts,
                      const std::set<std::string>& languages) {
    const VocabularyOptions& options = recipe_.vocabulary;
    text::VocabularyBuilder builder;
    builder.merge(counts);
    if (options.language_tags) {
      for (const auto& [language, pairs] : target_pairs()) builder.add(tag(language), pairs);
    }
    const text::Vocabulary vocabulary =
        builder.finish({.threshold = static_cast<uint64_t>(options.threshold),
                        .max_words = options.max_symbols == 0 ? -1 : options.max_symbols,
                        .multiple = static_cast<int32_t>(options.multiple)});
    if (options.language_tags) {
      for (const auto& [language, pairs] : target_pairs()) {
        require(vocabulary.id(tag(language)) != text::Vocabulary::kUnk,
                "vocabulary: {} ({} pairs) falls under vocabulary.threshold or "
                "vocabulary.max_symbols; relax them",
                tag(language), pairs);
      }
    }
    keep_vocabulary(file, vocabulary, languages);
  }

  void keep_vocabulary(const std::string& file, const text::Vocabulary& vocabulary,
                       const std::set<std::string>& languages) {
    vocabulary.save(directory_ / file);
    manifest_.vocabularies.push_back({.file = file,
                                      .languages = {languages.begin(), languages.end()},
                                      .symbols = vocabulary.size()});
    vocabularies_.push_back(vocabulary);
  }

  // Those that there are already: they keep their ids.
  void take_vocabularies() {
    const auto take = [&](const std::string& language) {
      const std::string& file = options_.like->vocabularies.at(language);
      const fs::path path = fs::path(options_.like->place) / file;
      const auto vocabulary = text::Vocabulary::parse(options_.like->read(file), path.string());
      for (const auto& pair : pairs_) {
        const bool is_there = vocabulary.id(tag(pair.target)) != text::Vocabulary::kUnk;
        require(!recipe_.vocabulary.language_tags || is_there, "{}: has no symbol {}",
                path.string(), tag(pair.target));
      }
      return vocabulary;
    };
    const LanguagePair& pair = pairs_[0];
    if (recipe_.vocabulary.joined) {
      return keep_vocabulary("vocabulary.txt", take(pair.source), languages());
    }
    for (const auto& language : {pair.source, pair.target}) {
      keep_vocabulary(fmt::format("vocabulary.{}.txt", language), take(language), {language});
    }
  }

  // How often each language is a target.
  std::map<std::string, uint64_t> target_pairs() const {
    std::map<std::string, uint64_t> pairs;
    for (const auto& part : parts_) {
      if (part.split != "train") continue;
      pairs[part.pair.target] += part.pairs;
      if (recipe_.both_directions) pairs[part.pair.source] += part.pairs;
    }
    return pairs;
  }

  std::string file_name(const std::string& split, const LanguagePair& pair,
                        const std::string& rest) const {
    const bool several = pairs_.size() > 1 || recipe_.both_directions;
    return several ? fmt::format("{}.{}.{}", split, pair.name(), rest)
                   : fmt::format("{}.{}", split, rest);
  }

  // Ids, and what is kept as text.
  void finish(const CorpusPart& part) {
    PreparedCorpus corpus = write_corpora(part);
    if (part.split != "train") keep_raw(part, corpus);
    manifest_.corpora.push_back(corpus);
    if (recipe_.both_directions) manifest_.corpora.push_back(reversed(corpus));
    if (options_.keep_text) {
      fs::rename(part.pieces.source,
                 directory_ / file_name(part.split, part.pair, part.pair.source));
      fs::rename(part.pieces.target,
                 directory_ / file_name(part.split, part.pair, part.pair.target));
    }
    remove(part.pieces);
  }

  PreparedCorpus write_corpora(const CorpusPart& part) const {
    const LanguagePair& pair = part.pair;
    const LanguagePair back{.source = pair.target, .target = pair.source};
    const text::Vocabulary& source = vocabulary_of(pair.source);
    const text::Vocabulary& target = vocabulary_of(pair.target);
    CorpusOptions options{.source_language = pair.source,
                          .target_language = pair.target,
                          .source_vocabulary_hash = checksum(source.format()),
                          .target_vocabulary_hash = checksum(target.format()),
                          .wide_ids = std::max(source.size(), target.size()) > kNarrowIds};
    const std::string file = file_name(part.split, pair, "corpus");
    CorpusWriter writer(directory_ / file, options);
    std::optional<CorpusWriter> back_writer;
    if (recipe_.both_directions) {
      std::swap(options.source_language, options.target_language);
      std::swap(options.source_vocabulary_hash, options.target_vocabulary_hash);
      back_writer.emplace(directory_ / file_name(part.split, back, "corpus"), options);
    }
    const Binarized counts = binarize("write " + part.label(), part.pieces, part.pairs, source,
                                      target, writer, back_writer ? &*back_writer : nullptr);
    writer.commit();
    if (back_writer) back_writer->commit();
    return {.file = file,
            .split = part.split,
            .source = pair.source,
            .target = pair.target,
            .source_tag = recipe_.vocabulary.language_tags ? tag(pair.target) : "",
            .pairs = signed_count(counts.pairs),
            .source_tokens = signed_count(counts.source.tokens),
            .target_tokens = signed_count(counts.target.tokens),
            .source_unknown = signed_count(counts.source.unknown),
            .target_unknown = signed_count(counts.target.unknown)};
  }

  PreparedCorpus reversed(PreparedCorpus corpus) const {
    std::swap(corpus.source, corpus.target);
    std::swap(corpus.source_tokens, corpus.target_tokens);
    std::swap(corpus.source_unknown, corpus.target_unknown);
    std::swap(corpus.source_text, corpus.target_text);
    corpus.file = file_name(corpus.split, {corpus.source, corpus.target}, "corpus");
    if (recipe_.vocabulary.language_tags) corpus.source_tag = tag(corpus.target);
    return corpus;
  }

  const text::Vocabulary& vocabulary_of(const std::string& language) const {
    return vocabularies_.at(recipe_.vocabulary.joined ? 0 : language == pairs_[0].source ? 0 : 1);
  }

  // The raw lines of dev and test that the corpus has, for scoring translations.
  void keep_raw(const CorpusPart& part, PreparedCorpus& corpus) const {
    corpus.source_text = file_name(part.split, part.pair, part.pair.source + ".txt");
    corpus.target_text = file_name(part.split, part.pair, part.pair.target + ".txt");
    AtomicFile source(directory_ / corpus.source_text), target(directory_ / corpus.target_text);
    const Corpus ids = Corpus::open(directory_ / corpus.file);
    PairReader reader(part.raw, options_.invalid);
    int64_t next = 0;
    while (const auto block = reader.next()) {
      for (size_t i = 0; i < block->numbers.size() && next < ids.size(); ++i) {
        if (block->numbers[i] != ids.line(next)) continue;
        source.write(block->source[i]);
        source.write("\n");
        target.write(block->target[i]);
        target.write("\n");
        ++next;
      }
    }
    source.commit();
    target.commit();
  }

  void note_cleaning() {
    for (const auto& pair : pairs_) {
      const Verdicts& verdicts = verdicts_[pair.name()];
      PreparedCleaning cleaning{.pair = pair.name()};
      for (const auto& part : parts_) {
        if (part.pair.name() != pair.name() || !part.is_training_text) continue;
        (part.split == "train" ? cleaning.train : cleaning.dev) = signed_count(part.pairs);
      }
      cleaning.lines = cleaning.train + cleaning.dev + signed_count(verdicts.dropped());
      for (size_t i = 1; i < kVerdicts; ++i) {
        cleaning.reasons.emplace_back(reason(static_cast<Verdict>(i)));
        cleaning.dropped.push_back(signed_count(verdicts.count[i]));
      }
      manifest_.cleaning.push_back(std::move(cleaning));
    }
  }

  const Recipe& recipe_;
  const PrepareOptions& options_;
  const std::vector<LanguagePair> pairs_;
  Manifest manifest_;
  fs::path directory_;
  std::vector<CorpusPart> parts_;
  std::map<std::string, HeldOut> held_out_;   // by pair
  std::map<std::string, Verdicts> verdicts_;  // by pair
  PieceCounts counts_;
  std::vector<text::Vocabulary> vocabularies_;  // one, or source and target
};

}  // namespace

Manifest prepare(const Recipe& recipe, const PrepareOptions& options) {
  if (recipe.like.empty()) {
    check(recipe);
    for (const auto& key : void_keys(recipe)) log::warn("{}", key);
    return recipe.language.empty() ? Preparation(recipe, options).run()
                                   : prepare_text(recipe, options);
  }
  PrepareOptions known = options;
  if (!known.like) known.like = like_prepared(recipe.like);
  const Recipe adopted = adopt(*known.like, recipe);
  check(adopted);
  return recipe.language.empty() ? Preparation(adopted, known).run() : prepare_text(adopted, known);
}

}  // namespace residual::data
