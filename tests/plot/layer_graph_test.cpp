#include <glia/plot/layer_graph.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "temporary_folder.hpp"

using glia::dense;
using glia::plot::layer_graph_svg;
using glia::plot::detail::layer_graph_layout;
using glia::plot::detail::layout_box;
using test::contains;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t place = text.find(part); place != std::string::npos;
       place = text.find(part, place + 1)) {
    ++count;
  }
  return count;
}

/// Whether no two boxes of a level are closer than `gap`.
bool are_apart(const layer_graph_layout& layout, double gap) {
  const auto& boxes = layout.boxes();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double distance =
          std::abs(boxes[i].x - boxes[j].x) - (boxes[i].width + boxes[j].width) / 2;
      if (boxes[i].level == boxes[j].level && distance < gap - 1e-9) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

TEST_CASE("boxes of a sequence are one below the other") {
  const layer_graph_layout layout(
      {{.width = 10}, {.width = 30, .sources = {0}}, {.width = 20, .sources = {1}}}, 5);
  CHECK(layout.level_count() == 3);
  CHECK(layout.width() == 30);
  for (const layout_box& box : layout.boxes()) {
    CHECK(box.x == Approx(15));
  }
}

TEST_CASE("branches are side by side, and an edge over several levels passes a point on each") {
  // 0 -> 1 -> 2 -> 4, 0 -> 3 -> 4, and 5 -> 4.
  const layer_graph_layout layout({{.width = 20},
                                   {.width = 20, .sources = {0}},
                                   {.width = 20, .sources = {1}},
                                   {.width = 20, .sources = {0}},
                                   {.width = 20, .sources = {2, 3, 5}},
                                   {.width = 20}},
                                  10);
  const auto& boxes = layout.boxes();
  CHECK(boxes[1].level == 1);
  CHECK(boxes[2].level == 2);
  CHECK(boxes[3].level == 1);
  CHECK(boxes[4].level == 3);
  CHECK(boxes[5].level == 2);  // directly above its only reader
  CHECK(are_apart(layout, 10));
  REQUIRE(layout.edges().size() == 6);
  REQUIRE(layout.edges()[4].size() == 3);
  CHECK(layout.edges()[4].front() == 3);
  CHECK(boxes[layout.edges()[4][1]].level == 2);
  for (const auto& edge : layout.edges()) {
    for (std::size_t i = 1; i < edge.size(); ++i) {
      CHECK(boxes[edge[i]].level == boxes[edge[i - 1]].level + 1);
    }
  }
}

TEST_CASE("sorting the levels removes crossings") {
  // Two chains 0 -> 3 and 1 -> 2, whose ends begin in the wrong order.
  const layer_graph_layout layout(
      {{.width = 20}, {.width = 20}, {.width = 20, .sources = {1}}, {.width = 20, .sources = {0}}},
      10);
  const auto& boxes = layout.boxes();
  CHECK((boxes[0].x < boxes[1].x) == (boxes[3].x < boxes[2].x));
  CHECK(boxes[0].x == Approx(boxes[3].x));
}

TEST_CASE("the picture has a box for each node and an arrow for each source") {
  const glia::model_plan plan = glia::plan_model(
      glia::sequential{glia::frozen{dense{3}},
                       glia::residual{glia::named{"a<b", dense{3, glia::relu}}}, dense{2}},
      {4});
  // input, dense_0, a<b, identity_0, add, dense_1
  const std::string svg = layer_graph_svg(plan);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "<rect") == 1 + 6);
  CHECK(count_of(svg, "<path") == 2 * 6);
  CHECK(count_of(svg, "stroke-dasharray") == 1);
  CHECK(contains(svg, ">a&lt;b</text>"));
  CHECK_FALSE(contains(svg, "a<b"));
  CHECK(contains(svg, ">dense(2)</text>"));
  CHECK(contains(svg, ">(N, 2)</text>"));
  CHECK(contains(svg, "<title>residual_0: add, (N, 3)</title>"));
}

TEST_CASE("a layer graph is written to .svg files only, and needs the nodes of a plan") {
  const test::temporary_folder folder;
  const glia::model net{dense{2}, {3}};
  glia::plot::layer_graph(folder.path() / "net.svg", net.plan());
  CHECK(std::filesystem::file_size(folder.path() / "net.svg") > 500);
  CHECK(test::message_of<glia::value_error>([&] {
          glia::plot::layer_graph("net.png", net.plan());
        }) == "net.png: expected a file name that ends in .svg");
  CHECK(test::message_of<glia::value_error>(
            [] { static_cast<void>(layer_graph_svg(glia::model_plan{})); }) ==
        "plot::layer_graph: expected the plan of a model, got a plan without nodes; use "
        "net.plan() or plan_model");
}
