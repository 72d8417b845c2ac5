#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "fetch/download.h"

namespace residual::fetch {

// Debian's archive through apt, with private state below `directory`: apt neither reads nor changes
// the system's package lists, needs no privilege, and checks signatures.
class PrivateApt {
 public:
  // Uses the machine's apt sources or, if a mirror is given, component `main` of one suite there. A
  // mirror on this machine (file:) is trusted without a signature.
  PrivateApt(const fs::path& directory, std::string mirror, std::string suite,
             std::string language);

  struct Index {
    std::string address;
    fs::path path;  // plain text; missing if apt could not download it
  };
  // Returns the files that describe all packages in `language`, in the order of their addresses.
  // The archive has those that exist after the call; a file put there by hand counts too.
  std::vector<Index> translations(const std::string& language);

  // Returns the tar archives of the newest version of a source package.
  std::vector<RemoteFile> source_archives(const std::string& package);

 private:
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;
  void update();
  void use_list(const std::string& content);
  void use_source_list();

  fs::path directory_;
  std::string mirror_, suite_, language_;
  bool has_own_list_ = false;   // replaces the system's list of sources
  bool is_up_to_date_ = false;  // package lists match the list of sources
  bool lists_sources_ = false;  // source packages instead of binary packages
};

}  // namespace residual::fetch
