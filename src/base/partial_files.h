#pragma once

#include <string>

namespace residual {

// Names of files that are being written under another name, so that a process that a signal ends
// leaves none of them. A few at a time: what does not fit stays until the next run finds it.
void remember_partial_file(const std::string& path) noexcept;
void forget_partial_file(const std::string& path) noexcept;

// From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored or handled already, remove these
// files and then end the process as they would.
void remove_partial_files_on_signals();

}  // namespace residual
