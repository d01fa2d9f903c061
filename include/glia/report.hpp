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
#include "glia/training/evaluate.hpp"
#include "glia/training/trainer_core.hpp"

namespace glia {

/// A line of a report's settings.
struct report_setting {
  std::string name = {};
  std::string value = {};
};

/// What stands in a report.
struct report_options {
  std::string date = {};       ///< as it is to be read; empty: now, by the local clock
  std::string processor = {};  ///< that the run was on; empty: this machine's
};

namespace detail {

[[nodiscard]] inline std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> buffer{};
  const bool known = localtime_r(&now, &parts) != nullptr;
  const std::size_t length =
      known ? std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M", &parts) : 0;
  return {buffer.data(), length};
}

}  // namespace detail

/// A run on one page of HTML: what it came to, how it was set, its curves, its mistakes, and what
/// else there is to show.
///
///     glia::report page("MNIST perceptron");
///     page.settings({{"data", "MNIST"}, {"optimizer", glia::text(optimizer)}});
///     page.settings(how);                      // fit_options: epochs, batch size
///     page.add(net);                           // its layers
///     page.add(trainer.fit(train, test, how));
///     page.add("test", glia::evaluate(net, test, loss));
///     page.add(confusion, names);
///     page.mistakes(net, test, {.names = names});
///     page.write("report.html");
///
/// The page needs nothing else, neither files nor a network nor scripts: pictures are in it. It is
/// readable on a telephone, in print and in the dark. Texts are shown as they are given, whatever
/// is in them. The scores and settings come first, then what was added, in that order.
///
/// Charts are drawn by gnuplot as they are added; one that cannot be drawn is a line on the page
/// that says why, so that no run is without a report for want of gnuplot. Needs libpng: link
/// `glia::image`.
class report {
 public:
  explicit report(std::string title, report_options options = {})
      : title_(std::move(title)), options_(std::move(options)) {}

  /// Lines of the settings, behind those that are there.
  void settings(const std::vector<report_setting>& all) {
    settings_.insert(settings_.end(), all.begin(), all.end());
  }
  void settings(const fit_options& how) {
    settings({{"epochs", std::to_string(how.epochs)},
              {"batch size", std::to_string(how.batch_size)},
              {"order of samples", how.shuffle ? "shuffled" : "as given"}});
  }
  void settings(const trainer_options& how) { settings({{"seed", std::to_string(how.seed)}}); }

  /// A model: its layers, by its plan.
  template <layer Description, backend B>
  void add(const model<Description, B>& net) {
    add(net.plan(), net.sample_shape());
  }
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

  /// A training: its curves, its last and its best scores, and a table of its epochs.
  void add(const history& training) {
    scores_.add(training);
    figure("epochs", std::to_string(training.epochs.size()));
    figure("time of training", detail::duration_text(training.seconds()));
    figure("samples a second", scaled(training.samples_per_second()));
    std::string html = "<p>No epoch was finished.</p>\n";
    if (!training.epochs.empty()) {
      html = "<div class=\"charts\">\n";
      const auto charts = plot::history_charts(training, {.panel = {.width = 480, .height = 380}});
      for (std::size_t i = 0; i < charts.size(); ++i) {
        html += drawn((i == 0 ? "loss" : training.metrics[i - 1].name) + " by epochs", charts[i]);
      }
      const report_table epochs = detail::epochs_table(training, scores_);
      html += "</div>\n<details><summary>Each epoch in numbers</summary>\n" +
              detail::html_table(epochs) + "</details>\n";
    }
    section("Training", html + detail::history_notes(training));
  }

  /// What `evaluate` gave for a data set of this name.
  void add(const std::string& name, const scores& of) { scores_.add(name, of); }

  /// A confusion matrix, with each class's precision and recall. More than 30 classes come as the
  /// pairs that are mixed up most. Throws `value_error` where names are not one for each class.
  void add(const confusion_matrix& counts, const std::vector<std::string>& names) {
    section("Confusion matrix", detail::confusion_section(counts, names));
  }

  /// The samples with the highest loss among those that the model takes for another class than
  /// theirs, as pictures where they are such; see `worst_mistakes` for what it throws. The outputs
  /// (N, K) of the model for the data set may also be given.
  template <layer Description, backend B, labelled_dataset D>
  void mistakes(const model<Description, B>& net, const D& data,
                const mistakes_options& options = {}) {
    mistakes(predict(net, data), data, options, net.plan().gives);
  }
  template <labelled_dataset D>
  void mistakes(const xt::xarray<float>& outputs, const D& data,
                const mistakes_options& options = {}, output_kind gives = output_kind::other) {
    std::vector<std::int32_t> truth(data.size());
    for (std::size_t i = 0; i < truth.size(); ++i) {
      truth[i] = data.label(i);
    }
    section("Worst mistakes",
            detail::mistakes_section(worst_mistakes(outputs, truth, options.most, gives), data,
                                     options));
  }

  /// Where the time of a step and the memory went: as bars, and in tables. Throws `value_error` for
  /// a profile without steps.
  void add(const profile& found) {
    add("Profile", plot::profile_chart(found));
    for (const report_table& one : detail::profile_tables(found)) {
      table(one);
    }
  }

  /// Throws `value_error` for a table without columns, or with a row that has not as many cells.
  void table(const report_table& all) { section(all.caption, detail::html_table(all)); }

  /// A chart; throws `value_error` for a size out of range.
  void add(const std::string& caption, const plot::chart& chart) {
    section(caption, drawn(caption, chart));
  }

  /// The page as it is now.
  [[nodiscard]] std::string html() const;

  /// Writes the page; the file is there whole or not at all. Throws `data_error`, naming it, where
  /// it cannot be written.
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
  [[nodiscard]] static std::string pairs(const std::vector<report_setting>& all,
                                         std::string_view look) {
    std::string html = "<dl class=\"" + std::string(look) + "\">\n";
    for (const report_setting& one : all) {
      html += "<div><dt>" + detail::html_text(one.name) + "</dt><dd>" +
              detail::html_text(one.value) + "</dd></div>\n";
    }
    return html + "</dl>\n";
  }
  /// A chart, named for those who do not see it.
  [[nodiscard]] std::string drawn(const std::string& name, const plot::chart& chart) {
    std::string picture;
    try {
      picture = plot::svg(chart);
    } catch (const data_error& e) {
      return "<p class=\"note\">" + detail::html_text(e.what()) + "</p>\n";
    }
    const std::string element =
        detail::svg_rewriter(picture, text("chart", ++charts_, '-')).element(name);
    // Photographs are not inverted in the dark.
    const bool photographs = element.find("<image") != std::string::npos;
    return text("<figure", photographs ? "" : " class=\"drawn\"", ">\n", element, "</figure>\n");
  }
  /// What stands at the top: the scores that were added last, and what was counted.
  [[nodiscard]] std::vector<report_setting> headline() const {
    constexpr std::size_t most_scores = 3;
    std::vector<report_setting> all;
    if (!scores_.rows.empty()) {
      const auto& [of, s] = scores_.rows.back();
      const std::string name = of.substr(0, of.find(','));
      for (std::size_t i = 0; i < std::min(s.names.size(), most_scores); ++i) {
        all.push_back({name + ' ' + s.names[i], scores_.written(s.names[i], s.metrics[i])});
      }
      if (all.empty()) {
        all.push_back({name + " loss", digits_text(s.loss, 4)});
      }
    }
    all.insert(all.end(), figures_.begin(), figures_.end());
    return all;
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
  // The policy has browsers see to it that the page asks nothing of anyone.
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
  return page + text(sections_, "</main>\n<footer>glia ", GLIA_VERSION_MAJOR, '.',
                     GLIA_VERSION_MINOR, '.', GLIA_VERSION_PATCH, "</footer>\n</body>\n</html>\n");
}

}  // namespace glia
