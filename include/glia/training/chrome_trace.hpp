#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "glia/core/number_text.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/timeline.hpp"

namespace glia {

/// A timeline of threads and counters in the JSON format of Chrome's trace viewer. Perfetto
/// (ui.perfetto.dev) opens it, too.
///
/// Source: the Trace Event Format of the Chromium project.
class chrome_trace {
 public:
  /// An activity of a thread.
  struct event {
    std::string name;            ///< Name of the activity.
    std::string category;        ///< Category, such as "forward".
    std::uint32_t row = 0;       ///< Index of the thread.
    std::int64_t begin = 0;      ///< Start, on the clock of timeline::now, in nanoseconds.
    std::int64_t end = 0;        ///< End, on the clock of timeline::now, in nanoseconds.
    std::string arguments = {};  ///< Additional values, as members of a JSON object.
  };
  /// The value of the memory counter at a time.
  struct sample {
    std::int64_t time = 0;  ///< Time, on the clock of timeline::now, in nanoseconds.
    double resident = 0;    ///< Resident memory, in bytes.
  };

  /// Adds the kernels and other activities that were recorded in a step.
  void add(const timeline& times) {
    for (const kernel_time& e : times.kernels) {
      add(e);
    }
    for (const std::vector<kernel_time>& lane : times.lanes) {
      for (const kernel_time& e : lane) {
        add(e);
      }
    }
    for (const detail::busy_time& e : times.helpers) {
      add_helper(e, times.kernels);
    }
    for (const named_time& e : times.activities) {
      events_.push_back({e.name, "other", row_of(std::this_thread::get_id()), e.begin, e.end});
    }
  }
  /// Adds an activity of the calling thread.
  void add(std::string name, std::int64_t begin, std::int64_t end) {
    events_.push_back({std::move(name), "step", row_of(std::this_thread::get_id()), begin, end});
  }
  /// Adds a value of the memory counter.
  void add(const sample& s) { samples_.push_back(s); }

  /// The activities added so far.
  [[nodiscard]] const std::vector<event>& events() const { return events_; }
  /// The number of threads.
  [[nodiscard]] std::size_t rows() const { return threads_.size(); }

  /// Writes the timeline to a file. Throws `data_error`, with the path, if it cannot be written.
  void write(const std::filesystem::path& path) const {
    write_whole_file(path, [&](std::ostream& out) { write(out); });
  }
  /// Writes the timeline to a stream.
  void write(std::ostream& out) const {
    std::int64_t start = 0;
    for (const event& e : events_) {
      start = start == 0 ? e.begin : std::min(start, e.begin);
    }
    const auto microseconds = [&](std::int64_t nanoseconds) {
      return fixed_text(1e-3 * static_cast<double>(nanoseconds), 3);
    };
    out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"training"}})";
    // Perfetto ignores thread 0, and takes the thread with the number of the process as the main
    // thread.
    const auto thread_of = [](std::size_t row) { return row + 1; };
    for (std::size_t row = 0; row < threads_.size(); ++row) {
      out << ",\n"
          << R"({"ph":"M","pid":1,"tid":)" << thread_of(row)
          << R"(,"name":"thread_name","args":{"name":")"
          << (row == 0 ? std::string("training") : "worker " + std::to_string(row)) << R"("}})";
    }
    for (const event& e : events_) {
      out << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":" << thread_of(e.row)
          << ",\"name\":" << quoted(e.name) << ",\"cat\":" << quoted(e.category)
          << ",\"ts\":" << microseconds(e.begin - start)
          << ",\"dur\":" << microseconds(e.end - e.begin) << ",\"args\":{" << e.arguments << "}}";
    }
    for (const sample& s : samples_) {
      out << ",\n"
          << R"({"ph":"C","pid":1,"name":"memory","ts":)" << microseconds(s.time - start)
          << R"(,"args":{"resident MB":)"
          << microseconds(static_cast<std::int64_t>(s.resident / 1e3)) << "}}";
    }
    out << "\n]}\n";
  }

  /// Converts a text to a JSON string.
  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        result += '\\';
        result += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        std::array<char, 8> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(c));
        result += buffer.data();
      } else {
        result += c;
      }
    }
    return result + '"';
  }

 private:
  void add(const kernel_time& e) {
    static constexpr const char* phases[] = {"forward", "backward", "update"};
    if (e.node == kernel_time::no_node) {
      events_.push_back(
          {"stretch " + std::to_string(e.stretch), "stretch", row_of(e.thread), e.begin, e.end});
      return;
    }
    const graph_node& node = e.calls->nodes()[e.node];
    const graph_place& place = e.calls->place_of(node);
    std::string arguments = "\"kernel\":" + quoted(node.kernel.name());
    if (e.rows > 0) {
      arguments += ",\"samples\":" + std::to_string(e.rows);
    }
    events_.push_back(
        {(place.name.empty() ? "the step" : place.name) + ' ' + std::string(node.kernel.name()),
         phases[static_cast<std::size_t>(place.phase)], row_of(e.thread), e.begin, e.end,
         std::move(arguments)});
  }
  /// Adds the time in which a worker thread helped with a kernel. The work on batch tiles is
  /// already in the timeline.
  void add_helper(const detail::busy_time& e, const std::vector<kernel_time>& kernels) {
    const auto parent = std::find_if(kernels.begin(), kernels.end(), [&](const kernel_time& k) {
      return k.begin <= e.begin && e.end <= k.end;
    });
    if (parent != kernels.end() && parent->node != kernel_time::no_node) {
      kernel_time part = *parent;
      part.thread = e.thread;
      part.begin = e.begin;
      part.end = e.end;
      add(part);
    }
  }
  /// Returns the index of a thread. The thread that trains is the first one seen, so it has the
  /// index 0.
  [[nodiscard]] std::uint32_t row_of(std::thread::id thread) {
    const auto known = std::find(threads_.begin(), threads_.end(), thread);
    const auto row = static_cast<std::uint32_t>(known - threads_.begin());
    if (known == threads_.end()) {
      threads_.push_back(thread);
    }
    return row;
  }

  std::vector<event> events_;
  std::vector<sample> samples_;
  std::vector<std::thread::id> threads_;
};

}  // namespace glia
