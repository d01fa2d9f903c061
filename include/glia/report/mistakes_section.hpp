#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/image/image.hpp"
#include "glia/image/png.hpp"
#include "glia/image/to_image.hpp"
#include "glia/models/summary.hpp"
#include "glia/report/confusion_section.hpp"
#include "glia/report/worst_mistakes.hpp"

namespace glia {

/// The options of `report::mistakes`.
struct mistakes_options {
  std::size_t max_mistakes = 24;        ///< Largest number of mistakes shown.
  std::vector<std::string> names = {};  ///< Names of the classes; empty: indices of the classes.
  /// Shape of the samples as pictures: (H, W), (H, W, 1) or (H, W, 3); empty: the shape in the data
  /// set.
  shape picture_shape = {};
  float black = 0;  ///< Value shown as black; must differ from `white`.
  float white = 1;  ///< Value shown as white.
  /// Function that returns the picture of sample n. Set it if the samples in the data set are no
  /// longer pictures. Example: `[&](std::size_t n) { return photos.picture(n); }`.
  std::function<image(std::size_t)> picture = {};
};

namespace detail {

[[nodiscard]] inline bool is_picture(const shape& s) {
  return (s.rank() == 2 || (s.rank() == 3 && (s[2] == 1 || s[2] == 3))) && s.size() > 0;
}

/// Returns one picture for each mistake, or an empty vector if the samples are not pictures.
///
/// Throws `shape_error` if `picture_shape` is not the shape of a picture or does not have the size
/// of a sample. Throws `value_error` if `black` and `white` are equal or not finite.
[[nodiscard]] inline std::vector<image> mistake_pictures(const std::vector<mistake>& mistakes,
                                                         const dataset_view& data,
                                                         const mistakes_options& options) {
  std::vector<image> pictures;
  if (options.picture) {
    for (const mistake& m : mistakes) {
      pictures.push_back(options.picture(m.sample));
    }
    return pictures;
  }
  const shape& requested = options.picture_shape;
  const shape s = requested.rank() > 0 ? requested : data.input_shape();
  require<shape_error>(
      requested.rank() == 0 ||
          (is_picture(requested) && requested.size() == data.input_shape().size()),
      "report: expected a picture_shape (H, W), (H, W, 1) or (H, W, 3) with the size of samples ",
      data.input_shape(), ", got ", requested);
  require<value_error>(
      options.white - options.black != 0 && std::isfinite(options.white - options.black),
      "report: expected black and white to be different and finite, got ", options.black, " and ",
      options.white);
  for (const mistake& m : is_picture(s) ? mistakes : std::vector<mistake>()) {
    const auto sample = static_cast<std::uint32_t>(m.sample);
    batch sample_batch;
    data.gather(std::span(&sample, 1), sample_batch);
    pictures.push_back(to_image(sample_batch.inputs, s, {options.black, options.white}));
  }
  return pictures;
}

/// Returns the HTML section about mistakes. Throws `value_error` if `options.names` has names, but
/// none for the class of a mistake.
[[nodiscard]] inline std::string mistakes_section(const mistakes_found& found,
                                                  const dataset_view& data,
                                                  const mistakes_options& options) {
  const std::string samples = grouped(found.samples) + " samples";
  if (found.wrong == 0) {
    return "<p>No mistakes among " + samples + ".</p>\n";
  }
  const auto name_of = [&](std::size_t k) {
    require<value_error>(options.names.empty() || k < options.names.size(),
                         "report: expected one name for each class, got ", options.names.size(),
                         " names, but there is a mistake of class ", k);
    return options.names.empty() ? std::to_string(k) : options.names[k];
  };
  const std::vector<image> pictures = mistake_pictures(found.worst, data, options);
  std::string html = "<p>" + grouped(found.wrong) + (found.wrong == 1 ? " mistake" : " mistakes") +
                     " among " + samples + ", sorted by loss, the highest first.</p>\n" +
                     "<ul class=\"mistakes\">\n";
  for (std::size_t i = 0; i < found.worst.size(); ++i) {
    const mistake& m = found.worst[i];
    const std::string number = "sample " + grouped(m.sample);
    html += "<li>";
    if (i < pictures.size()) {
      constexpr std::size_t small = 96;  // pixels; only small pictures are shown as sharp pixels
      html +=
          text("<img",
               std::max(pictures[i].width, pictures[i].height) <= small ? " class=\"small\"" : "",
               " width=\"", pictures[i].width, "\" height=\"", pictures[i].height, "\" alt=\"",
               number, "\" src=\"data:image/png;base64,", base64(encode_png(pictures[i])), "\">");
    }
    html += "<p><strong>" + html_text(name_of(m.truth)) + "</strong> predicted as <em>" +
            html_text(name_of(m.predicted)) + "</em> <small>" + html_text(name_of(m.predicted)) +
            ": " + percent(m.probability) + "<br>" + html_text(name_of(m.truth)) + ": " +
            percent(m.truth_probability) + "<br>" + number + "</small></p></li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace detail

}  // namespace glia
