#include "fetch/apt.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"

namespace residual::fetch {
namespace {

// Package lists of two languages and of all source packages, uncompressed, rounded up.
constexpr uint64_t kListBytes = 200'000'000;

constexpr const char* kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

// What stands between "deb" and the address.
std::string trust(const std::string& address) {
  if (address.starts_with("file:")) return "[trusted=yes] ";
  return fs::exists(kKeyring) ? fmt::format("[signed-by={}] ", kKeyring) : "";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// 'ADDRESS' NAME BYTES SHA256:HEX, as `apt-get source --print-uris` writes it.
bool parse_uri(const std::string& line, RemoteFile& file) {
  std::istringstream fields(line);
  std::string quoted, name, digest;
  if (!(fields >> quoted >> name >> file.bytes >> digest)) return false;
  if (quoted.size() < 3 || quoted.front() != '\'' || quoted.back() != '\'') return false;
  file.address = quoted.substr(1, quoted.size() - 2);
  file.digest = digest.starts_with("SHA256:") ? "sha256:" + digest.substr(7) : "";
  return true;
}

}  // namespace

PrivateApt::PrivateApt(const fs::path& directory, std::string mirror, std::string suite,
                       std::string language)
    : directory_(fs::absolute(directory)),
      mirror_(std::move(mirror)),
      suite_(std::move(suite)),
      language_(std::move(language)) {
  require_program("apt-get", "apt");
  require_writable(directory_);
  require_disk_space(directory_, kListBytes);
  fs::create_directories(directory_ / "lists/partial");
  fs::create_directories(directory_ / "cache/archives/partial");
  // The system's hooks clean its own caches after an update; a list can only be cleared in a file.
  replace_file(directory_ / "no-hooks.conf",
               "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n");
  if (!mirror_.empty())
    use_list(fmt::format("deb {}{} {} main\n", trust(mirror_), mirror_, suite_));
}

void PrivateApt::use_list(const std::string& content) {
  replace_file(directory_ / "sources.list", content);
  has_own_list_ = true;
  is_up_to_date_ = false;
}

std::vector<std::string> PrivateApt::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {"apt-get", "-c", (directory_ / "no-hooks.conf").string()};
  std::vector<std::string> settings = {
      "Dir::State=" + directory_.string(),
      "Dir::State::lists=" + (directory_ / "lists").string(),
      "Dir::Cache=" + (directory_ / "cache").string(),
      "Dir::Cache::pkgcache=",
      "Dir::Cache::srcpkgcache=",
      "Acquire::Languages=en," + language_,
      "Acquire::GzipIndexes=false",  // so that we can read them
      "Acquire::IndexTargets::deb::Packages::DefaultEnabled=false",
      "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
      "APT::Get::List-Cleanup=false",  // other languages' lists stay for another time
  };
  if (has_own_list_) {
    settings.push_back("Dir::Etc::sourcelist=" + (directory_ / "sources.list").string());
    settings.push_back("Dir::Etc::sourceparts=-");
  }
  for (const std::string& setting : settings) {
    command.push_back("-o");
    command.push_back(setting);
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

void PrivateApt::update() {
  if (std::exchange(is_up_to_date_, true)) return;
  log::info("downloading package lists{} with apt-get", lists_sources_ ? " of sources" : "");
  const int code = run_process(command({"-q", "update"})).exit_code;
  // One broken third-party source among several makes it fail; what we need may have come.
  if (code != 0) log::warn("apt-get update: failed with exit code {}", code);
}

std::vector<PrivateApt::Index> PrivateApt::translations(const std::string& language) {
  update();
  const ProcessResult result =
      run_process(command({"indextargets", "--no-release-info", "--format", "$(URI)\t$(FILENAME)",
                           "Created-By: Translations", "Language: " + language}));
  require(result.exit_code == 0, "apt-get indextargets: failed with exit code {}",
          result.exit_code);
  std::vector<Index> found;
  for (const std::string& line : lines_of(result.output)) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    found.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  std::sort(found.begin(), found.end(), [](const Index& a, const Index& b) {
    return std::tie(a.address, a.path) < std::tie(b.address, b.path);
  });
  return found;
}

// Machines rarely have deb-src lines: those that their deb lines of Debian imply.
void PrivateApt::use_source_list() {
  std::set<std::string> lines;
  if (mirror_.empty()) {
    update();
    const ProcessResult result =
        run_process(command({"indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                             "Created-By: Translations", "Origin: Debian"}));
    for (const std::string& line : lines_of(result.output)) {
      lines.insert(fmt::format("deb-src {}{}\n", trust(line), line));
    }
    require(!lines.empty(),
            "debian: this machine's apt sources have no Debian archive; check the network, or pass "
            "--mirror http://deb.debian.org/debian");
  } else {
    lines.insert(fmt::format("deb-src {}{} {} main\n", trust(mirror_), mirror_, suite_));
  }
  std::string content;
  for (const std::string& line : lines) content += line;
  use_list(content);
  lists_sources_ = true;
  update();
}

std::vector<RemoteFile> PrivateApt::source_archives(const std::string& package) {
  if (!lists_sources_) use_source_list();
  const ProcessResult result = run_process(
      command({"-q", "source", "--print-uris", "--download-only", "--only-source", package}));
  std::vector<RemoteFile> files;
  for (const std::string& line : lines_of(result.output)) {
    RemoteFile file;
    if (!parse_uri(line, file)) continue;
    const std::string name = file.name();
    const bool is_tar = name.find(".tar.") != std::string::npos && !name.ends_with(".asc");
    if (is_tar && name.find(".debian.tar.") == std::string::npos) files.push_back(file);
  }
  require(result.exit_code == 0 && !files.empty(),
          "debian: no source package \"{}\" in the archive; check its name and the network",
          package);
  return files;
}

}  // namespace residual::fetch
