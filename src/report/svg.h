#pragma once

#include <string>

// What all images have in common: a title, and colours that follow the reader's light or dark
// setting: var(--ink), var(--soft), var(--grid), var(--paper), var(--c0) to var(--c7).
namespace residual::report {

struct SvgPage {
  double width, height;
  double title_at;  // from the left
  std::string title;
  bool is_sized = false;  // as large as its units are pixels; otherwise as its place is wide
};
std::string svg_page(const SvgPage& page, const std::string& body);

std::string escaped(const std::string& text);

}  // namespace residual::report
