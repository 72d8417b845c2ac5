#include "data/stages.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "data/hash_set.h"
#include "data/words.h"
#include "text/vocabulary.h"

namespace residual::data {
namespace {

// Finds pairs that came before.
class Seen {
 public:
  explicit Seen(Duplicates duplicates) : duplicates_(duplicates) {}

  bool again(const PairView& pair) {
    return duplicates_ != Duplicates::keep && !keys_.insert(key(pair));
  }

 private:
  uint64_t key(const PairView& pair) const {
    if (duplicates_ == Duplicates::sources) return checksum(pair.source);
    if (duplicates_ == Duplicates::targets) return checksum(pair.target);
    return HeldOut::pair_hash(pair.source, pair.target);
  }

  Duplicates duplicates_;
  HashSet keys_;
};

// Both sides to words, with the cleaning that comes on the way.
class TrainingText {
 public:
  TrainingText(const Recipe& recipe, const LanguagePair& pair, const HeldOut& held_out)
      : clean_(recipe.clean),
        cleaner_(recipe.clean),
        held_out_(held_out),
        source_(recipe, pair.source),
        target_(recipe, pair.target) {}

  void see_first(const PairStream& stream) {
    const auto [source, target] = stream.first([&](std::string& a, std::string& b) {
      if (clean_.stage == CleanStage::raw) return Verdict::kept;
      source_(a);
      target_(b);
      return Verdict::kept;
    });
    cleaner_.see_first(source, target);
  }

  Verdict operator()(std::string& a, std::string& b) {
    if (is_held_out(a, b)) return Verdict::overlap;
    Verdict verdict = clean_.stage == CleanStage::raw ? cleaner_(a, b) : Verdict::kept;
    if (verdict != Verdict::kept) return verdict;
    source_(a);
    target_(b);
    if (clean_.stage == CleanStage::tokens) verdict = cleaner_(a, b);
    if (verdict != Verdict::kept) return verdict;
    if (clean_.drop_identical && a == b) return Verdict::identical;
    source_.finish(a);
    target_.finish(b);
    return Verdict::kept;
  }

 private:
  bool is_held_out(const std::string& a, const std::string& b) const {
    return (clean_.overlap == Overlap::pairs && held_out_.has_pair(a, b)) ||
           (clean_.overlap == Overlap::sentences && held_out_.has_sentence_of(a, b));
  }

  const CleanOptions& clean_;
  Cleaner cleaner_;
  const HeldOut& held_out_;
  ToWords source_, target_;
};

// Both sides to pieces.
class Cut {
 public:
  Cut(const Subwords& subwords, const LanguagePair& pair)
      : source_(subwords.transform(pair.source)), target_(subwords.transform(pair.target)) {}

  Verdict operator()(std::string& a, std::string& b) {
    apply(source_, a);
    apply(target_, b);
    return Verdict::kept;
  }

 private:
  void apply(const text::LineTransform& transform, std::string& line) {
    scratch_.clear();
    transform(line, scratch_);
    std::swap(line, scratch_);
  }

  text::LineTransform source_, target_;
  std::string scratch_;
};

}  // namespace

fs::path Workshop::file(const CorpusPart& part, const char* step) const {
  return directory / fmt::format("{}.{}.{}", part.split, part.pair.name(), step);
}

void training_words(const Workshop& workshop, const HeldOut& held_out, CorpusPart& train,
                    CorpusPart* dev, Verdicts& verdicts) {
  const Recipe& recipe = workshop.recipe;
  const PairStream stream{"tokenise " + train.label(), train.raw, workshop.invalid, train.pairs};
  PairWriter train_text(workshop.file(train, "words"));
  std::optional<PairWriter> dev_text;
  if (dev) dev_text.emplace(workshop.file(*dev, "words"));

  TrainingText text(recipe, train.pair, held_out);
  text.see_first(stream);
  Seen seen(recipe.clean.duplicates);
  const auto every = static_cast<uint64_t>(recipe.split.dev_every);
  stream.run([&] { return text; },
             [&](const PairView& pair) {
               const bool duplicate = pair.verdict == Verdict::kept && seen.again(pair);
               const Verdict verdict = duplicate ? Verdict::duplicate : pair.verdict;
               const uint64_t count = ++verdicts[verdict];
               if (verdict != Verdict::kept) return;
               (dev && count % every == 0 ? *dev_text : train_text).add(pair);
             });
  train.pairs = train_text.pairs();
  train.words = train_text.close();
  if (!dev) return;
  dev->pairs = dev_text->pairs();
  dev->words = dev_text->close();
}

void held_out_words(const Workshop& workshop, CorpusPart& part) {
  const Recipe& recipe = workshop.recipe;
  const PairStream stream{"tokenise " + part.label(), part.raw, workshop.invalid, part.pairs};
  PairWriter writer(workshop.file(part, "words"));
  ToWords source = ToWords::held_out(recipe, part.pair.source);
  ToWords target = ToWords::held_out(recipe, part.pair.target);
  stream.run(
      [&] {
        return [source, target](std::string& a, std::string& b) mutable {
          source(a);
          target(b);
          source.finish(a);
          target.finish(b);
          return Verdict::kept;
        };
      },
      [&](const PairView& pair) { writer.add(pair); });
  part.words = writer.close();
}

PieceCounts::Sides& PieceCounts::start() {
  const std::lock_guard lock(mutex_);
  return threads_.emplace_back();
}

PieceCounts::Sides PieceCounts::total() const {
  Sides sum;
  for (const auto& sides : threads_) {
    sum.source.add(sides.source);
    sum.target.add(sides.target);
  }
  return sum;
}

void to_pieces(const Workshop& workshop, const Subwords& subwords, CorpusPart& part,
               Verdicts& verdicts, PieceCounts* counts) {
  const CleanOptions& options = workshop.recipe.clean;
  const PairStream stream{
      "segment " + part.label(), {part.words}, text::Invalid::refuse, part.pairs};
  const bool clean = part.is_training_text && options.stage == CleanStage::pieces;
  Cleaner cleaner(options);
  if (clean) {
    const auto [source, target] = stream.first(Cut(subwords, part.pair));
    cleaner.see_first(source, target);
  }
  PairWriter writer(workshop.file(part, "pieces"));
  stream.run(
      [&] {
        return [&, cut = Cut(subwords, part.pair), sides = counts ? &counts->start() : nullptr](
                   std::string& a, std::string& b) mutable {
          cut(a, b);
          const Verdict verdict = clean ? cleaner(a, b) : Verdict::kept;
          if (sides && verdict == Verdict::kept) {
            text::VocabularyBuilder::count_line(a, sides->source);
            text::VocabularyBuilder::count_line(b, sides->target);
          }
          return verdict;
        };
      },
      [&](const PairView& pair) {
        if (pair.verdict == Verdict::kept) {
          writer.add(pair);
        } else {
          --verdicts[Verdict::kept];
          ++verdicts[pair.verdict];
        }
      });
  part.pairs = writer.pairs();
  part.pieces = writer.close();
}

}  // namespace residual::data
