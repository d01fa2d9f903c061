#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/platform/local_time.hpp"
#include "glia/core/processor_name.hpp"
#include "glia/core/version.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/data/dataset.hpp"
#include "glia/models/model.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/history.hpp"
#include "glia/plot/profile.hpp"
#include "glia/report/confusion_section.hpp"
#include "glia/report/inline_svg.hpp"
#include "glia/report/layers_table.hpp"
#include "glia/report/mistakes_section.hpp"
#include "glia/report/page_style.hpp"
#include "glia/report/profile_section.hpp"
#include "glia/report/report_table.hpp"
#include "glia/report/training_section.hpp"
#include "glia/trainer.hpp"
#include "glia/training/evaluate.hpp"
#include "glia/training/fit_options.hpp"

namespace glia {

/// A line in the settings of a report.
struct report_setting {
  std::string name = {};   ///< Name of the setting.
  std::string value = {};  ///< Value of the setting, as text.
};

/// The options of a `report`.
struct report_options {
  std::string date = {};       ///< Date, as text; empty: the local date and time.
  std::string processor = {};  ///< Name of the processor; empty: processor of this machine.
};

namespace detail {

[[nodiscard]] inline std::string local_time() {
  std::tm parts{};
  std::array<char, 32> buffer{};
  const bool known = platform::local_time(std::time(nullptr), parts);
  const std::size_t length =
      known ? std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M", &parts) : 0;
  return {buffer.data(), length};
}

}  // namespace detail

/// A self-contained HTML report of a training run: scores, settings, layers, curves, confusion
/// matrix, mistakes, profile, and your own tables and charts.
///
///     glia::report page("MNIST perceptron");
///     page.settings({{"data", "MNIST"}, {"optimizer", glia::text(optimizer)}});
///     page.settings(options);                  // fit_options: epochs, batch size
///     page.add(net);                           // layers
///     page.add(trainer.fit(train, test, options));
///     page.add("test", glia::evaluate(net, test, loss));
///     page.add(confusion, names);
///     page.mistakes(net, test, {.names = names});
///     page.write("report.html");
///
/// The page is a single file that contains all pictures. It needs no network and no scripts, and it
/// adapts to phones, print and dark mode. Scores and settings come first. The sections follow in
/// the order of the calls. All texts are escaped.
///
/// Charts are drawn by gnuplot when they are added. If that fails, for example because gnuplot is
/// not installed, the page shows the reason instead of the chart. Needs libpng: link
/// `glia::image`.
class report {
 public:
  /// Makes an empty report with a title.
  explicit report(std::string title, report_options options = {})
      : title_(std::move(title)), options_(std::move(options)) {}

  /// Appends lines to the settings.
  void settings(const std::vector<report_setting>& lines) {
    settings_.insert(settings_.end(), lines.begin(), lines.end());
  }
  /// Appends the number of epochs, the batch size and the order of samples to the settings.
  void settings(const fit_options& options) {
    settings({{"epochs", std::to_string(options.epochs)},
              {"batch size", std::to_string(options.batch_size)},
              {"order of samples", options.shuffle ? "shuffled" : "not shuffled"}});
  }
  /// Appends the seed to the settings.
  void settings(const trainer_options& options) {
    settings({{"seed", std::to_string(options.seed)}});
  }

  /// Adds a section about a model, with a table of its layers.
  template <layer Description>
  void add(const model<Description>& net) {
    add(net.plan(), net.sample_shape());
  }
  /// Adds a section about a model, from its plan and the shape of a sample.
  void add(const model_plan& plan, const shape& sample) {
    std::size_t parameters = 0;
    for (const parameter_spec& spec : plan.parameters) {
      parameters += spec.shape.size();
    }
    figure("parameters", scaled(static_cast<double>(parameters)));
    section("Model", "<p><code>" + detail::html_text(plan.description) + "</code> on samples " +
                         detail::html_text(text(sample)) + "</p>\n" +
                         detail::html_table(detail::layers_table(plan)));
  }

  /// Adds a section about a training, with its curves and a table of its epochs. Also adds the last
  /// and the best scores of the training to the section "Scores".
  void add(const history& training) {
    scores_.add(training);
    figure("epochs", std::to_string(training.epochs.size()));
    figure("training time", detail::duration_text(training.seconds()));
    figure("samples per second", scaled(training.samples_per_second()));
    std::string html = "<p>No epoch was completed.</p>\n";
    if (!training.epochs.empty()) {
      html = "<div class=\"charts\">\n";
      const auto charts = plot::history_charts(training, {.panel = {.width = 480, .height = 380}});
      for (std::size_t i = 0; i < charts.size(); ++i) {
        html += drawn((i == 0 ? "loss" : training.metrics[i - 1].name) + " by epoch", charts[i]);
      }
      const report_table epochs = detail::epochs_table(training, scores_);
      html += "</div>\n<details><summary>Table of all epochs</summary>\n" +
              detail::html_table(epochs) + "</details>\n";
    }
    section("Training", html + detail::history_notes(training));
  }

  /// Adds the result of `evaluate` to the section "Scores", under the name of a data set.
  void add(const std::string& name, const scores& result) { scores_.add(name, result); }

  /// Adds a confusion matrix with the precision and recall of each class. For more than 30 classes,
  /// a table of the most frequent mistakes replaces the matrix. Throws `value_error` if the number
  /// of names differs from the number of classes.
  void add(const confusion_matrix& counts, const std::vector<std::string>& names) {
    section("Confusion matrix", detail::confusion_section(counts, names));
  }

  /// Adds the misclassified samples with the highest loss. If the samples are images, the section
  /// shows them. Throws the errors of `predict` and `worst_mistakes`.
  template <layer Description, labeled_dataset D>
  void mistakes(const model<Description>& net, const D& data,
                const mistakes_options& options = {}) {
    mistakes(predict(net, data), data, options, net.plan().gives);
  }
  /// Adds the misclassified samples with the highest loss, from a model's outputs (N, K) for the
  /// data set. Outputs are logits unless `gives` says otherwise.
  template <labeled_dataset D>
  void mistakes(const xt::xarray<float>& outputs, const D& data,
                const mistakes_options& options = {}, output_kind gives = output_kind::other) {
    std::vector<std::int32_t> truth(data.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      truth[i] = data.label(i);
    }
    section("Worst mistakes",
            detail::mistakes_section(worst_mistakes(outputs, truth, options.max_mistakes, gives),
                                     data, options));
  }

  /// Adds the time of a training step and the memory, as a bar chart and as tables. Throws
  /// `value_error` if the profile has no steps.
  void add(const profile& found) {
    add("Profile", plot::profile_chart(found));
    for (const report_table& profile_table : detail::profile_tables(found)) {
      table(profile_table);
    }
  }

  /// Adds a table. Throws `value_error` if it has no columns, or if a row does not have one cell
  /// for each column.
  void table(const report_table& content) { section(content.caption, detail::html_table(content)); }

  /// Adds a chart with a caption. Throws `value_error` if the size of the chart is out of range.
  void add(const std::string& caption, const plot::chart& chart) {
    section(caption, drawn(caption, chart));
  }

  /// The page with everything added so far, as HTML.
  [[nodiscard]] std::string html() const;

  /// Writes the page to a file, as a whole or not at all. Throws `data_error`, with the path, if
  /// the file cannot be written.
  void write(const std::filesystem::path& path) const {
    const std::string page = html();
    write_whole_file(path, [&](std::ostream& out) { out << page; });
  }

 private:
  void figure(std::string name, std::string value) {
    figures_.push_back({std::move(name), std::move(value)});
  }
  void section(const std::string& title, const std::string& content) {
    sections_ += section_of(title, content);
  }
  [[nodiscard]] static std::string section_of(const std::string& title,
                                              const std::string& content) {
    return "<section>\n<h2>" + detail::html_text(title) + "</h2>\n" + content + "</section>\n";
  }
  [[nodiscard]] static std::string pairs(const std::vector<report_setting>& lines,
                                         std::string_view look) {
    std::string html = "<dl class=\"" + std::string(look) + "\">\n";
    for (const report_setting& line : lines) {
      html += "<div><dt>" + detail::html_text(line.name) + "</dt><dd>" +
              detail::html_text(line.value) + "</dd></div>\n";
    }
    return html + "</dl>\n";
  }
  /// Draws a chart, with a name for screen readers.
  [[nodiscard]] std::string drawn(const std::string& name, const plot::chart& chart) {
    std::string picture;
    try {
      picture = plot::svg(chart);
    } catch (const data_error& e) {
      return "<p class=\"note\">" + detail::html_text(e.what()) + "</p>\n";
    }
    const std::string element =
        detail::svg_rewriter(picture, text("chart", ++charts_, '-')).element(name);
    // Photos are not inverted in dark mode.
    const bool photographs = element.find("<image") != std::string::npos;
    return text("<figure", photographs ? "" : " class=\"drawn\"", ">\n", element, "</figure>\n");
  }
  /// Returns the numbers at the top of the page: the scores that were added last, then counts and
  /// times.
  [[nodiscard]] std::vector<report_setting> headline() const {
    constexpr std::size_t max_scores = 3;
    std::vector<report_setting> numbers;
    if (!scores_.rows.empty()) {
      const auto& [row_name, s] = scores_.rows.back();
      const std::string name = row_name.substr(0, row_name.find(','));
      for (std::size_t i = 0; i < std::min(s.metric_names.size(), max_scores); ++i) {
        numbers.push_back({name + ' ' + s.metric_names[i],
                           scores_.written(s.metric_names[i], s.metric_values[i])});
      }
      if (numbers.empty()) {
        numbers.push_back({name + " loss", digits_text(s.loss, 4)});
      }
    }
    numbers.insert(numbers.end(), figures_.begin(), figures_.end());
    return numbers;
  }

  std::string title_;
  report_options options_;
  std::vector<report_setting> settings_;
  std::vector<report_setting> figures_;
  detail::score_list scores_;
  std::string sections_;
  std::size_t charts_ = 0;
};

inline std::string report::html() const {
  const std::string date = options_.date.empty() ? detail::local_time() : options_.date;
  const std::string processor = options_.processor.empty() ? processor_name() : options_.processor;
  const std::string title = detail::html_text(title_);
  // With this policy, browsers block all network requests of the page.
  std::string page =
      text("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
           R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; )",
           R"(style-src 'unsafe-inline'; img-src data:">)", "\n",
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
           title, "</title>\n<style>", detail::page_style,
           "</style>\n</head>\n<body>\n<header>\n<h1>", title, "</h1>\n<p class=\"byline\">",
           detail::html_text(date), " \xC2\xB7 ", detail::html_text(processor), "</p>\n");
  const std::vector<report_setting> figures = headline();
  page += (figures.empty() ? "" : pairs(figures, "figures")) + "</header>\n<main>\n";
  if (!scores_.rows.empty()) {
    page += section_of("Scores", detail::html_table(scores_.table()));
  }
  if (!settings_.empty()) {
    page += section_of("Settings", pairs(settings_, "pairs"));
  }
  return page + text(sections_, "</main>\n<footer>glia ", detail::version_text(),
                     "</footer>\n</body>\n</html>\n");
}

}  // namespace glia
