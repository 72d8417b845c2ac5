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
  bool is_fuzzy = false;             // a guess that nobody has confirmed
};

// Calls body for each message but obsolete ones; the header has an empty id. Fails naming line and
// file (`name`) if the file is not of this format. REQUIRES: well-formed UTF-8.
void parse_catalogue(std::string_view text, const std::string& name,
                     const std::function<void(const Message&)>& body);

// The sentence pairs a message gives: none if it is fuzzy or not translated. What is not language
// is taken out: tags, man pages' font marks (B<bold>), keyboard accelerators (_File, ~File,
// &File). A pair is left out if its placeholders (%s, {name}) are not the same on both sides or if
// it is not plausible.
std::vector<SentencePair> message_pairs(const Message& message);

// Whether a catalogue is that of a language, by its path: po/de.po, de/help.po,
// de/LC_MESSAGES/x.po. "pt_BR" and "pt-BR" are the same.
bool is_catalogue_of(std::string_view path, std::string_view language);

}  // namespace residual::fetch
