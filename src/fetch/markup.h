#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual::fetch {

void remove_all(std::string& text, std::string_view part);
void replace_all(std::string& text, std::string_view from, std::string_view to);

// Straight: U+2019 becomes ', as in fairseq's data scripts.
enum class Apostrophes { as_they_are, straight };

// Writes the sentences of NIST-style files (one `<seg id="1"> ... </seg>` per line) one after the
// other, without their tags and the blanks at their ends.
void write_segments(const std::vector<fs::path>& inputs, const fs::path& output,
                    Apostrophes apostrophes = Apostrophes::as_they_are);

// The sentence of such a line.
std::string segment_text(std::string_view line);

// Without <tags>, with &amp; and its like as the characters they mean. What only looks like a tag
// ("a < b", "<>") stays.
std::string without_tags(std::string_view text);

// Every run of ASCII white space as one blank, none at the ends.
std::string with_single_blanks(std::string_view text);

}  // namespace residual::fetch
