#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia::detail {

/// Throws `rank_error` on every rank if the settings of a rank differ from the settings of rank 0.
inline void require_same_settings(rank_group& ranks, std::span<const rank_setting> local_settings) {
  std::string joined;
  for (const rank_setting& setting : local_settings) {
    joined += setting.name + ": " + setting.value + '\n';
  }
  const std::vector<std::string> settings = gather(ranks, joined);
  const auto line = [](const std::string& text, std::size_t begin) {
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  for (std::size_t i = 1; i < settings.size(); ++i) {
    std::size_t begin = 0;
    while (begin < settings[0].size() && line(settings[0], begin) == line(settings[i], begin)) {
      begin += line(settings[0], begin).size() + 1;
    }
    require<rank_error>(settings[i] == settings[0], ranks.name_of(i), " and ", ranks.name_of(0),
                        " have different settings: '", line(settings[i], begin), "' and '",
                        line(settings[0], begin),
                        "'; start the same program with the same arguments and data on all ranks");
  }
}

}  // namespace glia::detail
