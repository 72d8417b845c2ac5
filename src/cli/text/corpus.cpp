// residual corpus: inspects the binary corpora that `residual prepare` writes.

#include "data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "base/checksum.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "data/prepared.h"
#include "text/vocabulary.h"

namespace residual::cli {
namespace {

struct InfoOptions {
  std::vector<fs::path> paths;
  bool quick = false;
};

// Returns the file, or the corpora of a directory in the order of their names.
std::vector<fs::path> corpora_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".corpus") files.push_back(entry.path());
  }
  require(!files.empty(), "{}: has no *.corpus files; \"residual prepare\" makes them",
          path.string());
  std::sort(files.begin(), files.end());
  return files;
}

struct Side {
  uint64_t tokens = 0;
  int64_t longest = 0;

  void add(int64_t length) {
    tokens += static_cast<uint64_t>(length);
    longest = std::max(longest, length);
  }
};

void print_side(const char* name, const std::string& language, const Side& side, int64_t pairs,
                uint64_t vocabulary) {
  const double mean =
      pairs == 0 ? 0 : static_cast<double>(side.tokens) / static_cast<double>(pairs);
  fmt::print("  {} {}: {} tokens, {:.1f} per sentence, at most {}; vocabulary {}\n", name,
             language.empty() ? "-" : language, format_count(side.tokens), mean, side.longest,
             to_hex(vocabulary));
}

void info(const InfoOptions& o) {
  for (const fs::path& path : o.paths) {
    if (!o.quick && fs::exists(path / "prepared.toml")) {
      data::verify(data::load_manifest(path), path);
    }
    for (const fs::path& file : corpora_in(path)) {
      const data::Corpus corpus = data::Corpus::open(file);
      if (!o.quick) corpus.verify();
      Side source, target;
      for (int64_t pair = 0; pair < corpus.size(); ++pair) {
        const data::Corpus::Lengths at = corpus.lengths(pair);
        source.add(at.source);
        target.add(at.target);
      }
      const data::CorpusFooter& footer = corpus.footer();
      fmt::print("{}: {} pairs, {}-bit ids, {}\n", file.string(),
                 format_count(static_cast<uint64_t>(corpus.size())), 8 * footer.id_bytes,
                 o.quick ? "checksums not verified" : "checksums verified");
      print_side("source", corpus.source_language(), source, corpus.size(),
                 footer.source_vocabulary_hash);
      print_side("target", corpus.target_language(), target, corpus.size(),
                 footer.target_vocabulary_hash);
    }
  }
}

void add_corpus_info(CLI::App& parent) {
  auto* command =
      add_command(parent, "info", "print counts, lengths and languages; verify every checksum",
                  {"# one corpus, or all of a prepared directory",
                   "residual corpus info prepared/train.corpus", "residual corpus info prepared"});
  auto o = std::make_shared<InfoOptions>();
  command->add_option("path", o->paths, "corpus files, or directories that contain corpus files")
      ->required()
      ->type_name("PATH")
      ->group("Input");
  command->add_flag("--quick", o->quick, "do not verify the checksums")->group("Input");
  command->callback([o] { info(*o); });
}

struct ShowOptions {
  fs::path file;
  std::vector<uint64_t> lines;
  int64_t count = 10;
  bool ids = false;
  fs::path source_vocabulary, target_vocabulary;
};

// Returns the given vocabulary, or the one beside the corpus with the matching hash.
text::Vocabulary vocabulary_of(const data::Corpus& corpus, const fs::path& given, uint64_t hash,
                               const char* side) {
  if (!given.empty()) return text::Vocabulary::load(given);
  const fs::path parent = corpus.path().parent_path();
  for (const auto& entry : fs::directory_iterator(parent.empty() ? "." : parent)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".txt") continue;
    if (checksum(MappedFile(entry.path()).bytes()) == hash) {
      return text::Vocabulary::load(entry.path());
    }
  }
  fail("{}: no *.txt file beside it is its {} vocabulary (hash {}); give --{}-vocabulary or --ids",
       corpus.path().string(), side, to_hex(hash), side);
}

// Prints sentences as text or, without vocabularies, as ids.
class Printer {
 public:
  Printer(const data::Corpus& corpus, const ShowOptions& o) : corpus_(corpus) {
    if (o.ids) return;
    source_ = vocabulary_of(corpus, o.source_vocabulary, corpus.footer().source_vocabulary_hash,
                            "source");
    target_ = vocabulary_of(corpus, o.target_vocabulary, corpus.footer().target_vocabulary_hash,
                            "target");
    corpus.require_vocabularies(checksum(source_->format()), checksum(target_->format()));
  }
  void print(int64_t pair) const {
    std::vector<int32_t> source, target;
    corpus_.append(pair, source, target);
    fmt::print("{}\t{}\t{}\n", corpus_.line(pair), format(source, source_),
               format(target, target_));
  }

 private:
  std::string format(const std::vector<int32_t>& ids,
                     const std::optional<text::Vocabulary>& vocabulary) const {
    if (!vocabulary) return fmt::format("{}", fmt::join(ids, " "));
    const int32_t largest = *std::max_element(ids.begin(), ids.end());
    require(largest < vocabulary->size(), "{}: has id {}, but its vocabulary has only {} symbols",
            corpus_.path().string(), largest, vocabulary->size());
    return vocabulary->decode(ids);
  }

  const data::Corpus& corpus_;
  std::optional<text::Vocabulary> source_, target_;
};

void show(const ShowOptions& o) {
  if (fs::is_directory(o.file)) {
    std::vector<std::string> names;
    for (const fs::path& file : corpora_in(o.file)) names.push_back(file.string());
    fail("{}: is a directory; give one of its corpora: {}", o.file.string(),
         fmt::join(names, ", "));
  }
  const data::Corpus corpus = data::Corpus::open(o.file);
  const Printer printer(corpus, o);
  if (o.lines.empty()) {
    for (int64_t pair = 0; pair < std::min(o.count, corpus.size()); ++pair) printer.print(pair);
    return;
  }
  const std::unordered_set<uint64_t> wanted(o.lines.begin(), o.lines.end());
  std::unordered_set<uint64_t> found;
  for (int64_t pair = 0; pair < corpus.size(); ++pair) {
    if (!wanted.contains(corpus.line(pair))) continue;
    found.insert(corpus.line(pair));
    printer.print(pair);
  }
  for (const uint64_t line : o.lines) {
    require(found.contains(line), "{}: has no pair from line {}; cleaning may have removed it",
            o.file.string(), line);
  }
}

void add_corpus_show(CLI::App& parent) {
  auto* command = add_command(
      parent, "show", "print pairs as text: line number, source and target, separated by tabs",
      {"# the first ten pairs; vocabularies are found beside the corpus",
       "residual corpus show prepared/train.corpus", "# the pairs that came from given lines",
       "residual corpus show prepared/train.corpus --line 1 --line 20",
       "# the numbers the model sees", "residual corpus show prepared/train.corpus --ids"});
  auto o = std::make_shared<ShowOptions>();
  command->add_option("file", o->file, "corpus file")
      ->required()
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--source-vocabulary", o->source_vocabulary, "source vocabulary of the corpus")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--target-vocabulary", o->target_vocabulary, "target vocabulary of the corpus")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--line", o->lines,
                   "show only the pairs made from line N of the text; repeatable")
      ->check(positive())
      ->allow_extra_args(false)  // so that the file may follow
      ->type_name("N")
      ->group("Output");
  command->add_option("--count", o->count, "pairs to show without --line")
      ->check(not_negative())
      ->capture_default_str()
      ->type_name("N")
      ->group("Output");
  command->add_flag("--ids", o->ids, "print token ids instead of text")->group("Output");
  command->callback([o] { show(*o); });
}

}  // namespace

void add_corpus(CLI::App& root) {
  auto* corpus = add_group(root, "corpus", "Inspect the binary corpora that prepare writes");
  add_corpus_info(*corpus);
  add_corpus_show(*corpus);
}

}  // namespace residual::cli
