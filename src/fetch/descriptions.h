#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fetch/split.h"

// Debian's Translation-xx files: stanzas of Package, Description-md5 and Description-xx, where the
// MD5 is of the English text, so that it joins the languages.
namespace residual::fetch {

// One line of prose each: the short description, then the long one's paragraphs (which " ." lines
// divide), each cut into its text and list items.
using Paragraphs = std::vector<std::vector<std::string>>;

Paragraphs description_paragraphs(std::string_view description);

// Description-md5 -> description as it stands in the file.
using Descriptions = std::map<std::string, std::string, std::less<>>;

// Adds a file's descriptions. Of two different texts for one MD5 the smaller stays: which file came
// first does not matter. REQUIRES: well-formed UTF-8.
void read_descriptions(std::string_view file, Descriptions& out);

// Plausible sentence pairs of all descriptions that are in both and have equally many paragraphs;
// of those, the paragraphs with equally many items.
std::vector<SentencePair> join_descriptions(const Descriptions& first, const Descriptions& second);

}  // namespace residual::fetch
