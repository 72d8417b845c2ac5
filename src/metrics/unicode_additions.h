#pragma once

namespace residual::metrics {

// Returns 'N', 'P' or 'S' (number, punctuation, symbol) for characters that have this general
// category only after Unicode 15, the version of ICU 72; 0 for all others. sacreBLEU uses the
// newest Unicode data, so splitting newer characters in the same way needs this table.
char added_class(char32_t c);

}  // namespace residual::metrics
