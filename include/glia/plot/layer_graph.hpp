#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/html_text.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/utf8.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/layers/plan.hpp"
#include "glia/plot/layer_graph_layout.hpp"
#include "glia/plot/palette.hpp"
#include "glia/plot/text_size.hpp"

namespace glia::plot {

namespace detail {

/// Draws the layers of a model as boxes, with an arrow from each layer to its readers.
class layer_graph_picture {
 public:
  explicit layer_graph_picture(const model_plan& plan)
      : plan_(&plan), texts_(texts_of(plan)), layout_(boxes_of(plan, texts_), gap) {}

  [[nodiscard]] std::string svg() const {
    const double width = layout_.width() + 2 * margin;
    const double height =
        static_cast<double>(layout_.level_count()) * level_step - level_gap + 2 * margin;
    std::string result =
        text(R"(<svg xmlns="http://www.w3.org/2000/svg" width=")", pixels(width), R"(" height=")",
             pixels(height), R"(" viewBox="0 0 )", pixels(width), ' ', pixels(height),
             "\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" text-anchor=\"middle\">\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    for (const layout_edge& edge : layout_.edges()) {
      result += arrow(edge);
    }
    for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
      result += box(i);
    }
    return result + "</svg>\n";
  }

 private:
  static constexpr double margin = 16;
  static constexpr double gap = 28;  // between boxes of a level
  static constexpr double level_gap = 34;
  static constexpr double box_height = 62;
  static constexpr double join_height = 26;
  static constexpr double level_step = box_height + level_gap;
  static constexpr double name_size = 13;
  static constexpr double text_size = 12;

  /// The lines of text in a box.
  using lines = std::vector<std::string>;

  /// Cuts the end of a text that would make its box too wide.
  [[nodiscard]] static std::string shortened(std::string_view words) {
    constexpr std::size_t longest = 38;  // characters
    std::string result;
    for (std::size_t count = 0; !words.empty(); ++count) {
      if (count == longest) {
        return result + "\xE2\x80\xA6";
      }
      const std::size_t bytes = std::max<std::size_t>(glia::detail::character_bytes(words), 1);
      result += words.substr(0, bytes);
      words.remove_prefix(bytes);
    }
    return result;
  }
  [[nodiscard]] static std::vector<lines> texts_of(const model_plan& plan) {
    std::vector<lines> result;
    for (const layer_node& node : plan.nodes) {
      const std::string output = text(batch_text(node.output));
      switch (node.kind) {
        case layer_node_kind::join:
          result.push_back({node.description});
          break;
        case layer_node_kind::layer:
          result.push_back({shortened(node.name), shortened(node.description), output});
          break;
        default:
          result.push_back({shortened(node.name), output});
          break;
      }
    }
    return result;
  }
  [[nodiscard]] static std::vector<layout_box> boxes_of(const model_plan& plan,
                                                        const std::vector<lines>& texts) {
    std::vector<layout_box> result;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      double width = 0;
      for (const std::string& line : texts[i]) {
        width = std::max(width, text_width(line, name_size) * 1.1);
      }
      result.push_back({.width = width + 24, .sources = plan.nodes[i].sources});
    }
    return result;
  }

  [[nodiscard]] static std::string pixels(double number) { return fixed_text(number, 1); }
  /// Returns the y coordinate of the middle of a level.
  [[nodiscard]] static double middle(std::size_t level) {
    return margin + static_cast<double>(level) * level_step + box_height / 2;
  }
  [[nodiscard]] double height_of(std::size_t box) const {
    if (box >= plan_->nodes.size()) {
      return box_height;  // an edge crosses a level in a straight line
    }
    return plan_->nodes[box].kind == layer_node_kind::join ? join_height : box_height;
  }

  [[nodiscard]] std::string arrow(const layout_edge& edge) const {
    constexpr double head = 8;
    const std::vector<layout_box>& boxes = layout_.boxes();
    const auto x = [&](std::size_t i) { return boxes[edge[i]].x + margin; };
    const auto top = [&](std::size_t i) {
      return middle(boxes[edge[i]].level) - height_of(edge[i]) / 2;
    };
    const auto bottom = [&](std::size_t i) { return top(i) + height_of(edge[i]); };
    std::string path = text('M', pixels(x(0)), ' ', pixels(bottom(0)));
    const std::size_t last = edge.size() - 1;
    for (std::size_t i = 1; i <= last; ++i) {
      const double end = top(i) - (i == last ? head : 0);
      const double bend = (end - bottom(i - 1)) / 2;
      path += text(" C", pixels(x(i - 1)), ' ', pixels(bottom(i - 1) + bend), ' ', pixels(x(i)),
                   ' ', pixels(end - bend), ' ', pixels(x(i)), ' ', pixels(end));
      if (i < last) {
        path += text(" V", pixels(bottom(i)));
      }
    }
    const std::string tip =
        text('M', pixels(x(last)), ' ', pixels(top(last)), " l-4 -", head, " h8 z");
    return text("<path d=\"", path, R"(" fill="none" stroke=")", muted,
                R"(" stroke-width="1.5"/><path d=")", tip, "\" fill=\"", muted, "\"/>\n");
  }

  [[nodiscard]] std::string box(std::size_t index) const {
    const layer_node& node = plan_->nodes[index];
    const layout_box& place = layout_.boxes()[index];
    const double height = height_of(index);
    const double top = middle(place.level) - height / 2;
    const double x = place.x + margin;
    const bool is_layer = node.kind == layer_node_kind::layer;
    const bool is_join = node.kind == layer_node_kind::join;
    const bool frozen = is_layer && plan_->layers[node.layer].frozen;
    std::string result =
        text("<g><title>", glia::detail::html_text(title_of(node)), "</title><rect x=\"",
             pixels(x - place.width / 2), "\" y=\"", pixels(top), "\" width=\"",
             pixels(place.width), "\" height=\"", pixels(height), "\" rx=\"",
             is_layer  ? 6
             : is_join ? 13
                       : 20,
             "\" fill=\"",
             is_join               ? "#fbeee6"
             : is_layer && !frozen ? "#ffffff"
                                   : "#eef1f6",
             "\" stroke=\"", is_join ? color(1) : color(0), '"',
             frozen ? " stroke-dasharray=\"4 3\"" : "", "/>");
    const lines& texts = texts_[index];
    constexpr double line_step = 17;
    double y = top + height / 2 - line_step * static_cast<double>(texts.size() - 1) / 2 + 4.5;
    for (std::size_t i = 0; i < texts.size(); ++i, y += line_step) {
      const bool is_name = i == 0 && !is_join;
      result += text("<text x=\"", pixels(x), "\" y=\"", pixels(y), "\" font-size=\"",
                     is_name ? name_size : text_size, '"', is_name ? " font-weight=\"bold\"" : "",
                     " fill=\"", i + 1 == texts.size() && !is_join ? "#555555" : "#1c1c1c", "\">",
                     glia::detail::html_text(texts[i]), "</text>");
    }
    return result + "</g>\n";
  }
  /// Returns the text that a browser shows when the mouse is over a box.
  [[nodiscard]] static std::string title_of(const layer_node& node) {
    return text(node.name, node.description.empty() ? "" : ": ", node.description, ", ",
                batch_text(node.output));
  }

  const model_plan* plan_;
  std::vector<lines> texts_;
  layer_graph_layout layout_;
};

}  // namespace detail

/// Draws the layers of a model as an SVG element, for an HTML page or a file.
///
/// Boxes are layers, with their name, description and output shape. Rounded boxes are inputs and
/// named outputs of the model, small orange boxes are joins of branches. A dashed border marks a
/// frozen layer. An arrow leads from each layer to the layers that read its output. glia places the
/// boxes itself, so no other program is needed.
///
/// Throws `value_error` if the plan has no nodes; use `model::plan` or `plan_model`.
[[nodiscard]] inline std::string layer_graph_svg(const model_plan& plan) {
  require<value_error>(!plan.nodes.empty(),
                       "plot::layer_graph: expected the plan of a model, got a plan without nodes; "
                       "use net.plan() or plan_model");
  return detail::layer_graph_picture(plan).svg();
}

/// Draws the layers of a model to a file whose name ends in .svg. The file is written as a whole or
/// not at all; see `layer_graph_svg`.
///
///     glia::plot::layer_graph("network.svg", net.plan());
///
/// Throws `value_error` if the name has another ending, and `data_error`, with the path, if the
/// file cannot be written.
inline void layer_graph(const std::filesystem::path& path, const model_plan& plan) {
  require<value_error>(path.extension().string() == ".svg", path.string(),
                       ": expected a file name that ends in .svg");
  const std::string picture =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + layer_graph_svg(plan);
  glia::write_whole_file(path, [&](std::ostream& out) { out << picture; });
}

}  // namespace glia::plot
