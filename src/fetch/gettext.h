#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fetch/split.h"

// Message catalogues of programs: GNU gettext's .po files.
namespace residual::fetch {

struct Message {
  std::string id;                    // English
  std::string plural;                // English, if the message counts something
  std::vector<std::string> strings;  // the translation, or one for each plural form
  bool is_fuzzy = false;             // an unconfirmed guess
};

// Calls body for each message except obsolete ones; the header has an empty id. Throws an Error
// with file (`name`) and line if the file is malformed. REQUIRES: well-formed UTF-8.
void parse_catalogue(std::string_view text, const std::string& name,
                     const std::function<void(const Message&)>& body);

// Returns the sentence pairs of a message: none if it is fuzzy or untranslated. Markup is removed:
// tags, font marks of man pages (B<bold>), keyboard accelerators (_File, ~File, &File). A pair is
// dropped if its placeholders (%s, {name}) differ between the sides or if it is not plausible.
std::vector<SentencePair> message_pairs(const Message& message);

// Returns whether a path is that of a language's catalogue: po/de.po, de/help.po,
// de/LC_MESSAGES/x.po. "pt_BR" and "pt-BR" are the same.
bool is_catalogue_of(std::string_view path, std::string_view language);

}  // namespace residual::fetch
