#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fetch/split.h"

// Debian's Translation-xx files: stanzas of Package, Description-md5 and Description-xx. The MD5 is
// that of the English text, so it joins the languages.
namespace residual::fetch {

// Lines of prose: the short description, then the paragraphs of the long one (separated by " ."
// lines), each split into its text and list items.
using Paragraphs = std::vector<std::vector<std::string>>;

Paragraphs description_paragraphs(std::string_view description);

// Maps Description-md5 to the description as written in the file.
using Descriptions = std::map<std::string, std::string, std::less<>>;

// Adds a file's descriptions. Of two different texts for one MD5 the smaller is kept, so the order
// of the files does not matter. REQUIRES: well-formed UTF-8.
void read_descriptions(std::string_view file, Descriptions& out);

// Returns the plausible sentence pairs of all descriptions that are in both maps with the same
// number of paragraphs; paragraphs must have the same number of items.
std::vector<SentencePair> join_descriptions(const Descriptions& first, const Descriptions& second);

}  // namespace residual::fetch
