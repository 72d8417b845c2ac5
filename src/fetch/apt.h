#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "fetch/download.h"

namespace residual::fetch {

// Debian's archive through apt, with a state of its own below `directory`: the system's package
// lists are neither read nor changed, and no privilege is needed. Signatures are checked by apt.
class PrivateApt {
 public:
  // The machine's own apt sources or, if a mirror is given, its `main` of one suite. A mirror on
  // this machine (file:) is trusted without a signature.
  PrivateApt(const fs::path& directory, std::string mirror, std::string suite,
             std::string language);

  struct Index {
    std::string address;
    fs::path path;  // plain text; does not exist if apt could not load it
  };
  // The files that describe all packages in the language given, in the order of their addresses.
  // Which of them an archive has is known by which exist after this; one that was put there by
  // hand counts.
  std::vector<Index> translations(const std::string& language);

  // The tar archives that the newest version of a source package consists of.
  std::vector<RemoteFile> source_archives(const std::string& package);

 private:
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;
  void update();
  void use_list(const std::string& content);
  void use_source_list();

  fs::path directory_;
  std::string mirror_, suite_, language_;
  bool has_own_list_ = false;   // of where to load from, instead of the system's
  bool is_up_to_date_ = false;  // with that list
  bool lists_sources_ = false;  // rather than binary packages
};

}  // namespace residual::fetch
