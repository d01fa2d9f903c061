#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/platform/machine.hpp"
#include "glia/core/platform/process.hpp"

namespace glia::mpi {

/// The machine, process and cores of a rank. It contains no pointers, so that ranks can send it.
struct rank_place {
  std::array<char, 64> host{};
  /// PID namespace in which the process number is valid.
  std::array<char, 32> process_space{};
  int process = 0;
  platform::core_set cores;

  [[nodiscard]] static rank_place current() {
    rank_place result;
    platform::host_name().copy(result.host.data(), result.host.size() - 1);
    std::error_code unknown;
    std::filesystem::read_symlink("/proc/self/ns/pid", unknown)
        .string()
        .copy(result.process_space.data(), result.process_space.size() - 1);
    result.process = platform::process_id();
    result.cores = platform::allowed_cores();
    return result;
  }

  [[nodiscard]] std::string host_name() const { return host.data(); }
  [[nodiscard]] bool same_host(const rank_place& other) const { return host == other.host; }
  [[nodiscard]] bool sees_process_of(const rank_place& other) const {
    return same_host(other) && process_space == other.process_space;
  }
  [[nodiscard]] std::size_t core_count() const { return cores.count(); }
  [[nodiscard]] bool shares_cores(const rank_place& other) const {
    return same_host(other) && (cores & other.cores).any();
  }
};

/// Returns the number of threads that a rank should use: the number of its cores, divided by the
/// number of ranks that share some of these cores.
[[nodiscard]] inline std::size_t threads_for(const std::vector<rank_place>& places,
                                             std::size_t rank) {
  const auto sharing = std::count_if(places.begin(), places.end(), [&](const rank_place& other) {
    return places[rank].shares_cores(other);
  });
  return std::max<std::size_t>(
      places[rank].core_count() / std::max<std::size_t>(static_cast<std::size_t>(sharing), 1), 1);
}

/// Returns a text such as "4 ranks on 2 machines, 1 to 2 threads each", and a warning for each
/// machine with fewer cores than threads. `threads` contains the number of threads of each rank.
[[nodiscard]] inline std::string placement_text(const std::vector<rank_place>& places,
                                                const std::vector<std::size_t>& threads) {
  std::vector<std::size_t> first_of_host;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (std::none_of(first_of_host.begin(), first_of_host.end(),
                     [&](std::size_t known) { return places[known].same_host(places[i]); })) {
      first_of_host.push_back(i);
    }
  }
  const auto [minimum, maximum] = std::minmax_element(threads.begin(), threads.end());
  const auto counted = [](std::size_t count, const char* noun) {
    return text(count, ' ', noun, count == 1 ? "" : "s");
  };
  std::string result = text(
      counted(places.size(), "rank"), " on ", counted(first_of_host.size(), "machine"), ", ",
      *minimum == *maximum ? "" : text(*minimum, " to "), counted(*maximum, "thread"), " each");
  for (const std::size_t host : first_of_host) {
    std::size_t thread_count = 0;
    platform::core_set cores;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].same_host(places[host])) {
        thread_count += threads[i];
        cores |= places[i].cores;
      }
    }
    const std::size_t core_count = cores.count();
    if (thread_count > core_count) {
      result += text("\nwarning: ", places[host].host_name(), " runs ",
                     counted(thread_count, "thread"), " on ", counted(core_count, "core"),
                     ", which is slow; start fewer ranks there, or give each of them --threads 1");
    }
  }
  return result;
}

}  // namespace glia::mpi
