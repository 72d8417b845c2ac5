// residual fetch: downloads parallel text from its publishers.

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "base/progress.h"
#include "cli/command.h"
#include "fetch/sources.h"

namespace residual::cli {
namespace {

fs::path default_downloads(const fs::path& output) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
    return fs::path(cache) / "residual";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache/residual";
  }
  return fs::absolute(output).parent_path() / "downloads";
}

void print_sources() {
  for (const fetch::Source& source : fetch::sources()) {
    fmt::print("{}\n  {}\n  languages: {}\n  download: {}\n  licence: {}\n", source.name,
               source.summary, source.languages, source.size, source.licence);
  }
}

// Refuses options that would have no effect.
void check_use(const CLI::App& command, const fetch::FetchOptions& o) {
  const auto refuse = [&](bool is_useless, const char* option, const char* why) {
    if (is_useless && command.count(option) > 0) {
      throw CLI::ValidationError(fmt::format("{} {}", option, why));
    }
  };
  const bool is_debian = o.source == "debian", is_generated = o.source == "generated";
  refuse(!is_debian, "--collection", "is for debian");
  refuse(!is_debian || o.collection != "gettext", "--package",
         "is for debian --collection gettext");
  refuse(!is_debian || o.mirror.empty(), "--suite", "is for debian with --mirror");
  refuse(is_generated, "--mirror", "has no effect on generated: nothing is downloaded");
  refuse(!is_debian && !is_generated, "--dev", "is for debian and generated");
  refuse(!is_debian && !is_generated, "--test", "is for debian and generated");
}

void run(const CLI::App& command, fetch::FetchOptions options, bool list) {
  if (list) return print_sources();
  if (options.source.empty()) throw CLI::RequiredError("SOURCE");
  if (options.output.empty()) throw CLI::RequiredError("--output");
  check_typed([&] { fetch::find_source(options.source); });
  check_use(command, options);
  if (options.downloads.empty()) options.downloads = default_downloads(options.output);
  for (const auto& file : fetch::fetch(options)) {
    fmt::print("{}\t{}\n", (options.output / file.path).string(), file.lines);
  }
}

void add_options(CLI::App& command, fetch::FetchOptions& options) {
  const std::string main = "Source and destination", network = "Network", debian = "Debian";
  command.add_option("source", options.source, "one of the sources that --list prints")
      ->type_name("SOURCE")
      ->group(main);
  command
      .add_option(
          "--pair", options.pairs,
          "language pair such as en-de (default: the usual pairs of the source); repeatable")
      ->type_name("PAIR")
      ->allow_extra_args(false)
      ->group(main);
  command.add_option("-o,--output", options.output, "directory to create")
      ->type_name("DIR")
      ->group(main);
  command
      .add_flag("--force", options.force,
                "replace the directory if it is empty or holds a previous result")
      ->group(main);

  command
      .add_option("--downloads", options.downloads,
                  "cache of downloads (default: $XDG_CACHE_HOME/residual or ~/.cache/residual)")
      ->type_name("DIR")
      ->group(network);
  command
      .add_option("--mirror", options.mirror,
                  "mirror to download from: replaces http://host in every address; for debian, the "
                  "archive to use instead of the apt sources")
      ->type_name("URL")
      ->group(network);
  command
      .add_flag(
          "--no-verify", [&options](int64_t) { options.verify = false; },
          "accept downloads with a different size or checksum")
      ->group(network);

  command.add_option("--collection", options.collection, "descriptions, gettext or libreoffice")
      ->capture_default_str()
      ->type_name("NAME")
      ->group(debian);
  command
      .add_option("--package", options.packages,
                  "source package whose message catalogues gettext reads; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(debian);
  command.add_option("--suite", options.suite, "suite on the --mirror")
      ->capture_default_str()
      ->type_name("NAME")
      ->group(debian);
  command.add_option("--dev", options.dev, "sentence pairs in dev")
      ->capture_default_str()
      ->check(whole(1, 1000000))
      ->type_name("N")
      ->group("Split, for debian and generated");
  command.add_option("--test", options.test, "sentence pairs in test")
      ->capture_default_str()
      ->check(whole(1, 1000000))
      ->type_name("N")
      ->group("Split, for debian and generated");
}

}  // namespace

void add_fetch(CLI::App& root) {
  CLI::App* command = add_command(
      root, "fetch", "Download parallel text: train, dev and test, one sentence per line",
      {"residual fetch --list", "# package descriptions, from Debian's own archive",
       "residual fetch debian --pair en-de --output data/debian-en-de",
       "# the user interface and help of an office suite",
       "residual fetch debian --pair en-fr --collection libreoffice -o data/office",
       "residual fetch iwslt14 --output data/iwslt14",
       "residual fetch opus100 --pair en-de --pair en-fr --output data/opus100",
       "# without a network: an artificial language",
       "residual fetch generated --output data/en-art"});
  auto options = std::make_shared<fetch::FetchOptions>();
  auto list = std::make_shared<bool>(false);
  add_options(*command, *options);
  command->add_flag("--list", *list, "print the known sources with languages, sizes and licences")
      ->group("Source and destination");
  command->callback([command, options, list] { run(*command, *options, *list); });
}

}  // namespace residual::cli
