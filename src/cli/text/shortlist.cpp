// residual shortlist: learns the likely target symbols of each source symbol.

#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "data/lexicon.h"
#include "data/prepared.h"
#include "text/lines.h"
#include "text/vocabulary.h"

namespace residual::cli {
namespace {

struct Options {
  fs::path data;
  fs::path output = "-";
  std::string source, target;
  data::LexiconOptions lexicon;
};

struct Found {
  std::vector<data::Corpus> corpora;
  std::string source_vocabulary, target_vocabulary;  // files
};

// Opens the training corpora of the requested languages.
Found find_corpora(const Options& o) {
  const data::Manifest manifest = data::load_manifest(o.data);
  Found found;
  for (const auto& corpus : manifest.corpora) {
    const bool is_wanted = corpus.split == "train" &&
                           (o.source.empty() || corpus.source == o.source) &&
                           (o.target.empty() || corpus.target == o.target);
    if (!is_wanted) continue;
    const std::string source = data::vocabulary_of(manifest, corpus.source).file;
    const std::string target = data::vocabulary_of(manifest, corpus.target).file;
    require(found.corpora.empty() ||
                (source == found.source_vocabulary && target == found.target_vocabulary),
            "{}: the directions have different vocabularies; choose one with --from and --to",
            o.data.string());
    found.source_vocabulary = source;
    found.target_vocabulary = target;
    found.corpora.push_back(data::Corpus::open(o.data / corpus.file));
    found.corpora.back().check_sums();
    found.corpora.back().require_vocabularies(checksum(read_file(o.data / source)),
                                              checksum(read_file(o.data / target)));
  }
  require(!found.corpora.empty(), "{}: has no training corpus{}", o.data.string(),
          o.source.empty() && o.target.empty() ? "" : " of these languages");
  return found;
}

void run(const Options& o) {
  text::LineWriter output(o.output);  // fails early if the name is wrong
  const Found found = find_corpora(o);
  const auto source = text::Vocabulary::load(o.data / found.source_vocabulary);
  const auto target = text::Vocabulary::load(o.data / found.target_vocabulary);
  const int64_t pairs = data::pairs_of(found.corpora, o.lexicon);
  Progress progress("learning", static_cast<uint64_t>(pairs * o.lexicon.iterations), "pairs");
  const auto lexicon =
      data::learn_lexicon(found.corpora, source.size(), o.lexicon, [&] { progress.add(); });
  progress.finish();

  uint64_t symbols = 0, lines = 0;
  std::string text;
  for (size_t x = text::Vocabulary::kSpecials; x < lexicon.size(); ++x) {
    symbols += lexicon[x].empty() ? 0 : 1;
    lines += lexicon[x].size();
    text.clear();
    for (const auto& [y, probability] : lexicon[x]) {
      fmt::format_to(std::back_inserter(text), "{} {} {:.6g}\n", target.symbol(y),
                     source.symbol(static_cast<int32_t>(x)), probability);
    }
    output.write(text);
  }
  output.commit();
  log::info("{} translations of {} symbols, from {} pairs", format_count(lines),
            format_count(symbols), format_count(static_cast<uint64_t>(pairs)));
}

}  // namespace

void add_shortlist(CLI::App& root) {
  auto* command =
      add_command(root, "shortlist", "Learn a lexical shortlist for faster translation",
                  {"residual shortlist data/iwslt14-de-en -o iwslt14.lex",
                   "residual translate --model runs/resi-dual --shortlist iwslt14.lex < test.de"});
  auto o = std::make_shared<Options>();
  const std::string files = "Input and output", lexicon = "Lexicon";
  command->add_option("data", o->data, "prepared corpus that the model was trained on")
      ->required()
      ->type_name("DIR")
      ->group(files);
  command->add_option("-o,--output", o->output, "shortlist to write; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->group(files);
  command->add_option("--from", o->source, "use only corpora with this source language")
      ->type_name("LANG")
      ->group(files);
  command->add_option("--to", o->target, "use only corpora with this target language")
      ->type_name("LANG")
      ->group(files);
  const auto add = [&](const char* flag, int64_t& value, const char* what) {
    return command->add_option(flag, value, what)
        ->capture_default_str()
        ->type_name("N")
        ->group(lexicon);
  };
  add("--pairs", o->lexicon.pairs, "number of pairs to learn from, evenly spaced; 0: all pairs")
      ->check(not_negative());
  add("--longest", o->lexicon.longest, "skip pairs with more than N symbols on a side")
      ->check(positive());
  add("--iterations", o->lexicon.iterations, "iterations of expectation maximisation")
      ->check(whole(1, 100));
  add("--best", o->lexicon.best, "maximum number of translations to keep for a symbol")
      ->check(positive());
  command->add_option("--least", o->lexicon.least, "minimum probability of a translation to keep")
      ->check(between(0, 1))
      ->capture_default_str()
      ->type_name("P")
      ->group(lexicon);
  command->callback([o] { run(*o); });
}

}  // namespace residual::cli
