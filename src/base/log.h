#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

// Messages for people, on standard error only: standard output carries results.
namespace residual::log {

enum class Level { debug, info, warning, error, off };

// Messages below this level are dropped. The default is info.
void set_level(Level level);
Level level();

void write(Level level, std::string_view text);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace residual::log
