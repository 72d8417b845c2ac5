#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace residual::fetch {

void remove_all(std::string& text, std::string_view part);
void replace_all(std::string& text, std::string_view from, std::string_view to);

// With `straight`, U+2019 becomes ', as in fairseq's data scripts.
enum class Apostrophes { as_they_are, straight };

// Writes the sentences of NIST-style files (one `<seg id="1"> ... </seg>` per line) in sequence,
// without tags and surrounding blanks.
void write_segments(const std::vector<fs::path>& inputs, const fs::path& output,
                    Apostrophes apostrophes = Apostrophes::as_they_are);

// Returns the sentence of a <seg> line.
std::string segment_text(std::string_view line);

// Returns `text` without <tags>, and with entities such as &amp; decoded. Text that only resembles
// a tag ("a < b", "<>") stays.
std::string without_tags(std::string_view text);

// Returns `text` with every run of ASCII white space as one blank, and none at the ends.
std::string with_single_blanks(std::string_view text);

}  // namespace residual::fetch
