#pragma once

#include <string>

namespace residual {

// Registers the name of a temporary file, so that a process ended by a signal leaves none behind.
// The list's capacity is small: the next run removes files that did not fit.
void remember_partial_file(const std::string& path) noexcept;
void forget_partial_file(const std::string& path) noexcept;

// Installs handlers: SIGINT, SIGTERM and SIGHUP, unless already ignored or handled, remove the
// registered files and then end the process as usual.
void remove_partial_files_on_signals();

}  // namespace residual
