#pragma once

namespace residual::metrics {

// 'N', 'P' or 'S' (number, punctuation, symbol) for characters that got this general category
// after Unicode 15, which is what ICU 72 knows; 0 for all others. sacreBLEU asks the newest
// Unicode data, so this is needed to cut newer characters as it does.
char added_class(char32_t c);

}  // namespace residual::metrics
