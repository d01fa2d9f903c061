#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <glia/plot.hpp>
#include <limits>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"

namespace plot = glia::plot;
using test::contains;
using test::message_of;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t position = text.find(part); position != std::string::npos;
       position = text.find(part, position + 1)) {
    ++found;
  }
  return found;
}

/// What stands in an SVG picture, a line after the other.
std::vector<std::string> texts(const std::string& svg) {
  std::vector<std::string> lines;
  for (std::size_t position = svg.find("<text"); position != std::string::npos;
       position = svg.find("<text", position)) {
    position = svg.find('>', position) + 1;
    std::string line = svg.substr(position, svg.find("</text>", position) - position);
    for (const auto& [entity, character] : std::vector<std::pair<std::string, std::string>>{
             {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t i = line.find(entity); i != std::string::npos; i = line.find(entity)) {
        line.replace(i, entity.size(), character);
      }
    }
    lines.push_back(line);
  }
  return lines;
}

bool shows(const std::string& svg, const std::string& line) {
  const std::vector<std::string> lines = texts(svg);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// An SVG picture's points, without those in its key.
std::size_t points(const std::string& svg, std::size_t in_key) {
  return count(svg, "' transform='translate(") - in_key;
}

std::size_t png_extent(const std::string& png, std::size_t offset) {
  std::size_t extent = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    extent = 256 * extent + static_cast<unsigned char>(png.at(offset + i));
  }
  return extent;
}

/// All that gnuplot, its formats or XML could take for something else.
const std::string hostile = R"(`date` "b" 'c' \n\101 $d _x^2 {d} @e~f <&> #5|;!)";

glia::history trained() {
  glia::history training;
  training.metrics = {glia::accuracy()};
  for (std::size_t epoch = 1; epoch <= 4; ++epoch) {
    glia::epoch_record e;
    e.epoch = epoch;
    e.seconds = 0.5;
    e.samples_per_second = 2000;
    e.training = {1.0 / static_cast<double>(epoch), {0.5}};
    if (epoch < 4) {
      e.validation = glia::scores{1.25, {0.625}};
    }
    training.epochs.push_back(e);
  }
  return training;
}

}  // namespace

TEST_CASE("curves have their texts and all of their points") {
  const std::string svg =
      plot::svg(plot::curves_chart({{.name = "first", .y = {1, 2, 4}},
                                    {.name = "second", .x = {1, 3}, .y = {2, 3.5}},
                                    {.y = {3, 3, 3}, .style = plot::marks::line}},
                                   {.title = "Title 12.5", .x_label = "across", .y_label = "up"}));
  for (const char* line : {"Title 12.5", "across", "up", "first", "second"}) {
    CHECK(shows(svg, line));
  }
  CHECK(points(svg, 2) == 5);
  CHECK(svg.starts_with("<svg"));
  CHECK(contains(svg, "</svg>"));
}

TEST_CASE("texts come out as they are written") {
  const std::string svg = plot::svg(plot::curves_chart(
      {{.name = hostile + "k", .y = {1, 2}}},
      {.title = hostile + "\nsecond line", .x_label = hostile + "x", .y_label = hostile + "y"}));
  for (const char* end : {"", "k", "x", "y"}) {
    CHECK(shows(svg, hostile + end));
  }
  CHECK(shows(svg, "second line"));

  const std::string formats = "50 %, %d of %% and %s";
  const std::string long_format = "%d" + std::string(60, 'x');
  const std::string bars = plot::svg(plot::bars_chart(
      {hostile + "\nbelow", formats, long_format}, {{.name = formats, .values = {1, 2, 3}}},
      {.title = hostile + "t" + formats, .note = hostile + "n", .unit = hostile}));
  for (const std::string& line :
       {hostile, std::string("below"), formats, hostile + "t" + formats, hostile + "n",
        "1.00" + hostile, "\xEF\xBC\x85" + long_format.substr(1)}) {
    CHECK(shows(bars, line));
  }
  CHECK(count(bars, "<text>" + formats + "</text>") == 2);

  glia::confusion_matrix matrix(2);
  matrix.add(0, 1);
  const std::vector<std::string> lines =
      texts(plot::svg(plot::confusion_chart(matrix, {hostile, formats}, {.title = hostile})));
  CHECK(std::count(lines.begin(), lines.end(), hostile) == 3);
  CHECK(std::count(lines.begin(), lines.end(), formats) == 2);
}

TEST_CASE("texts may be any bytes") {
  const std::string svg = plot::svg(plot::curves_chart(
      {{.y = {1}}}, {.title = std::string("a\0b\x01\tc\xFF\xC0\x80\xED\xA0\x80 \xC3\xBC", 15)}));
  CHECK(shows(svg,
              "a b  c\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
              "\xC3\xBC"));
}

TEST_CASE("values that are not finite are gaps") {
  const std::vector<double> y{1, not_a_number, 2, infinity, -infinity, 3, 1e308};
  const std::string svg = plot::svg(plot::curves_chart({{.y = y}}));
  CHECK(points(svg, 0) == 3);
  CHECK(points(plot::svg(plot::curves_chart({{.x = {1, not_a_number, 3}, .y = {1, 2, 3}}})), 0) ==
        2);
  CHECK(points(plot::svg(plot::curves_chart({{.y = {1, 0, -1, 10}}}, {.log_y = true})), 0) == 2);
  CHECK(points(plot::svg(plot::curves_chart({{.x = {-1, 0, 1}, .y = {1, 1, 1}}}, {.log_x = true})),
               0) == 1);
  for (const bool log : {false, true}) {
    const std::string empty = plot::svg(
        plot::curves_chart({{.name = "lost", .y = {not_a_number, not_a_number}}}, {.log_y = log}));
    CHECK(points(empty, 1) == 0);
    CHECK(shows(empty, "lost"));
  }
  CHECK_NOTHROW(plot::svg(plot::curves_chart(
      {{.y = {1, 2, not_a_number}, .low = {0, not_a_number, 1}, .high = {2, infinity, 2}}},
      {.log_y = true})));
  CHECK_NOTHROW(plot::svg(plot::bars_chart({"a", "b"}, {{.values = {not_a_number, infinity}}})));
  CHECK_NOTHROW(plot::svg(
      plot::bars_chart({"a", "b"}, {{.values = {-1, 0}}}, {.log_y = true, .highlight = 0})));
  CHECK_NOTHROW(plot::svg(plot::histogram_chart({{.values = {not_a_number, 1, infinity}}})));
  CHECK_NOTHROW(plot::svg(plot::histogram_chart({{.values = {not_a_number}}}, {.log_y = true})));
}

TEST_CASE("intervals are error bars or a band") {
  const plot::series with_bars{.y = {2, 3, 4}, .low = {1, 2, 3}, .high = {3, 4, 5}};
  plot::series with_band = with_bars;
  with_band.interval_style = plot::spread::band;
  const std::string bars = plot::curves_chart({with_bars}).script;
  CHECK(contains(bars, "with yerrorbars"));
  CHECK(contains(bars, "1 2 1 3\n2 3 2 4\n3 4 3 5\n"));
  CHECK(contains(plot::svg(plot::curves_chart({with_band})), "fill-opacity"));
  CHECK(!contains(plot::svg(plot::curves_chart({with_bars})), "fill-opacity"));
  // A lower end up to 0 on a logarithmic axis lies at the lowest value there.
  CHECK(contains(
      plot::curves_chart({{.y = {2, 3}, .low = {-1, 2}, .high = {3, 4}}}, {.log_y = true}).script,
      "1 2 2 3\n"));
}

TEST_CASE("a logarithmic axis of few decades has numbers between its powers of ten") {
  const std::string narrow = plot::svg(plot::curves_chart({{.y = {3, 30}}}, {.log_y = true}));
  CHECK(shows(narrow, " 5"));
  CHECK(shows(narrow, " 20"));
  const std::string wide = plot::svg(plot::curves_chart({{.y = {3, 3000}}}, {.log_y = true}));
  CHECK(shows(wide, " 1000"));
  CHECK(!shows(wide, " 20"));
}

TEST_CASE("series of one color may belong together") {
  const std::string script =
      plot::curves_chart({{.y = {1, 2}}, {.y = {2, 3}}, {.y = {1, 3}, .dashed = true, .color = 0}})
          .script;
  CHECK(count(script, "'#17407a'") == 2);
  CHECK(count(script, "'#d9642b'") == 1);
  CHECK(count(script, "dt (6,6)") == 1);
}

TEST_CASE("bars stand in groups with their values") {
  const std::string svg = plot::svg(
      plot::bars_chart({"here", "there"},
                       {{.name = "one", .values = {1.5, 133}}, {.name = "two", .values = {0, -20}}},
                       {.y_label = "seconds", .unit = " s"}));
  for (const char* line :
       {"here", "there", "one", "two", "seconds", "1.50 s", "133 s", "0 s", "-20.0 s"}) {
    CHECK(shows(svg, line));
  }
  const std::string bare = plot::svg(plot::bars_chart({"here", "there"}, {{.values = {1.5, 133}}},
                                                      {.values = false, .highlight = 1}));
  CHECK(!shows(bare, "133"));
  CHECK(contains(bare, "rgb(122, 140, 168)"));  // muted
  CHECK(contains(bare, "rgb(217, 100,  43)"));  // highlighted
}

TEST_CASE("a histogram counts what lies in its bins") {
  const std::string script =
      plot::histogram_chart({{.values = {0, 0.5, 1, 1, 2, 3, 4, 9, not_a_number}}},
                            {.bins = 4, .low = 0, .high = 4})
          .script;
  CHECK(contains(script, "0 0\n0 2\n1 2\n2 1\n3 2\n4 2\n4 0\n"));
  const std::string logarithmic =
      plot::histogram_chart({{.values = {0, 3}}}, {.bins = 3, .log_y = true}).script;
  CHECK(contains(logarithmic, "0 0.5\n0 1\n1 0.5\n2 1\n3 1\n3 0.5\n"));
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0);
  // Freedman and Diaconis: 999 / (2 * 500 / 10) = 9.99.
  CHECK(plot::detail::bins_for(values, {}).count == 10);
  CHECK(plot::detail::bins_for(std::vector<double>(64, 3.0), {}).count == 7);
}

TEST_CASE("a confusion matrix is a map with its counts written in") {
  glia::confusion_matrix matrix(3);
  for (int i = 0; i < 40; ++i) {
    matrix.add(0, 0);
  }
  matrix.add(1, 2);
  matrix.add(2, 2);
  const std::string svg = plot::svg(plot::confusion_chart(matrix, {"ant", "bee", "cat"}));
  CHECK(shows(svg, "40"));
  CHECK(shows(svg, "accuracy 97.6 %"));
  const std::vector<std::string> lines = texts(svg);
  CHECK(std::count(lines.begin(), lines.end(), "bee") == 2);
  CHECK(std::count(lines.begin(), lines.end(), "1") == 2);
  CHECK(std::count(lines.begin(), lines.end(), "0") == 6);
  CHECK(count(plot::confusion_chart(matrix, {"a", "b", "c"}).script, "\n1 1 ") == 0);

  glia::confusion_matrix large(300);
  large.add(299, 0);
  const std::string map = plot::svg(
      plot::confusion_chart(large, std::vector<std::string>(300, "class"), {.title = "many"}));
  CHECK(!shows(map, "0"));
  CHECK(!shows(map, "1"));
}

TEST_CASE("a history is a panel for the loss and one for each metric") {
  const std::string svg = plot::svg(plot::history_chart(trained(), {.title = "A training"}));
  const std::vector<std::string> lines = texts(svg);
  for (const char* line : {"A training", "loss", "accuracy"}) {
    CHECK(std::count(lines.begin(), lines.end(), line) == 1);
  }
  for (const char* line : {"training", "validation", "epoch"}) {
    CHECK(std::count(lines.begin(), lines.end(), line) == 2);
  }
  CHECK(points(svg, 4) == 2 * (4 + 3));
  CHECK(!shows(svg, "1.5"));  // there is no such epoch

  glia::history diverged = trained();
  diverged.epochs[2].training.loss = not_a_number;
  CHECK(points(plot::svg(plot::history_chart(diverged)), 4) == 2 * (4 + 3) - 1);
}

TEST_CASE("plot::history writes the chart of a history to a file") {
  const test::temporary_folder folder;
  plot::history(folder.path() / "history.svg", trained());
  const std::string file = test::file_content(folder.path() / "history.svg");
  CHECK(file.ends_with(plot::svg(plot::history_chart(trained()))));
}

TEST_CASE("a search for a learning rate is drawn as points and a smooth line") {
  const glia::learning_rate_curve search{
      .rates = {0.001, 0.01, 0.1, 1}, .losses = {2, 2.2, 1, 4}, .smoothed_losses = {2, 2, 1.5, 2}};
  const plot::chart chart =
      plot::learning_rate_curve_chart(search, {.title = "A search", .canvas = {.width = 400}});
  CHECK(chart.canvas.width == 400);
  const std::string svg = plot::svg(chart);
  for (const char* line :
       {"A search", "learning rate", "loss", "loss of a batch", "smoothed loss"}) {
    CHECK(shows(svg, line));
  }
  CHECK(points(svg, 1) == 4);
  CHECK(contains(chart.script, "set logscale x"));
  CHECK_FALSE(contains(chart.script, "set logscale y"));
  CHECK(contains(plot::learning_rate_curve_chart(search, {.log_loss = true}).script,
                 "set logscale y"));
  const test::temporary_folder folder;
  plot::learning_rate_curve(folder.path() / "search.svg", search);
  CHECK(test::file_content(folder.path() / "search.svg")
            .ends_with(plot::svg(plot::learning_rate_curve_chart(search))));
  CHECK(contains(message_of<glia::value_error>([] { (void)plot::learning_rate_curve_chart({}); }),
                 "at least one step"));
}

TEST_CASE("panels keep their places and their sizes") {
  const plot::chart panel = plot::curves_chart(
      {{.y = {1, 2}}}, {.title = "one", .canvas = {.width = 300, .height = 200}});
  const plot::chart panels = plot::panels_chart({panel, panel, panel}, {.columns = 2});
  CHECK(panels.canvas.width == 600);
  CHECK(panels.canvas.height == 400);
  CHECK(count(plot::svg(panels), "<text>one</text>") == 3);
  const plot::chart titled = plot::panels_chart({panel}, {.title = "all", .columns = 5});
  CHECK(titled.canvas.width == 300);
  CHECK(titled.canvas.height > 200);
}

TEST_CASE("captions stand on their picture") {
  glia::image picture = glia::filled_image(120, 150, {255, 255, 255});
  const std::string svg = plot::svg(
      plot::captions_chart(picture, {{.text = hostile, .x = 75, .y = 60, .color = {192, 40, 45}}}));
  CHECK(shows(svg, hostile));
  CHECK(contains(svg, "data:image/png;base64"));
  // Bytes that gnuplot would read as commands, were they not those of a picture.
  const std::string command = "\nexit status 3\n";
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
    picture.pixels[i] = static_cast<std::uint8_t>(command[i % command.size()]);
  }
  CHECK(png_extent(plot::png(plot::captions_chart(picture, {})), 16) == 150);
  CHECK(contains(message_of<glia::shape_error>([] { (void)plot::captions_chart({}, {}); }),
                 "plot::captions: expected an image"));
}

TEST_CASE("the ending says whether a chart becomes SVG or PNG") {
  const test::temporary_folder folder;
  const plot::curves_options size{.canvas = {.width = 321, .height = 234}};
  plot::curves(folder.path() / "a chart's.png", {{.y = {1, 2}}}, size);
  const std::string png = test::file_content(folder.path() / "a chart's.png");
  CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
  CHECK(png_extent(png, 16) == 321);
  CHECK(png_extent(png, 20) == 234);
  plot::curves(folder.path() / "a.svg", {{.y = {1, 2}}}, size);
  const std::string svg = test::file_content(folder.path() / "a.svg");
  CHECK(svg.starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<svg"));
  CHECK(contains(svg, "width=\"321\" height=\"234\""));
  for (const char* name : {"a.jpg", "a", ".svg"}) {
    CHECK(contains(
        message_of<glia::value_error>([&] { plot::curves(folder.path() / name, {{.y = {1}}}); }),
        "expected a file name that ends in .svg or .png"));
  }
}

TEST_CASE("a chart that cannot be drawn says why, and leaves no file and no other one's ruin") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "chart.svg";
  const std::string missing = message_of<glia::data_error>(
      [&] { plot::curves(path, {{.y = {1}}}, {.canvas = {.gnuplot = "/nowhere/gnuplot"}}); });
  CHECK(contains(missing, "'/nowhere/gnuplot' cannot be started"));
  CHECK(contains(missing, "apt-get install gnuplot-nox"));
  CHECK(contains(
      message_of<glia::data_error>([&] { plot::write(path, {.script = "plot no_function(x)"}); }),
      "undefined function: no_function"));
  CHECK(contains(
      message_of<glia::data_error>([&] { plot::write(path, {.canvas = {.gnuplot = "false"}}); }),
      "false failed with status 1"));
  CHECK(contains(
      message_of<glia::data_error>([&] { plot::write(path, {.script = "plot 1\nexit status 3"}); }),
      "gnuplot failed with status 3"));
  // What ends well and draws nothing has failed, too.
  CHECK(contains(
      message_of<glia::data_error>([&] { plot::write(path, {.canvas = {.gnuplot = "true"}}); }),
      "true failed with status 0"));
  CHECK(
      contains(message_of<glia::value_error>([&] { plot::write(path, {.canvas = {.width = 99}}); }),
               "100 to 20000 pixels, got 99"));
  CHECK(contains(
      message_of<glia::data_error>([&] { plot::curves("/nowhere/chart.svg", {{.y = {1}}}); }),
      "/nowhere/chart.svg: cannot be written"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what does not fit together is refused") {
  const auto refused = [](const auto& call) { return message_of<glia::value_error>(call); };
  CHECK(contains(refused([] { (void)plot::curves_chart({}); }),
                 "expected at least one point, got 0 series"));
  CHECK(contains(refused([] { (void)plot::curves_chart({{.name = "a"}}); }),
                 "expected at least one point, got 1 series"));
  CHECK(contains(refused([] {
                   (void)plot::curves_chart({{.name = "a", .x = {1, 2}, .y = {1}}});
                 }),
                 "series 'a', got 2 x and 1 y"));
  CHECK(contains(refused([] {
                   (void)plot::curves_chart({{.y = {1, 2}, .low = {1}, .high = {2}}});
                 }),
                 "2 points, 1 low and 1 high"));
  CHECK(contains(refused([] { (void)plot::curves_chart({{.y = {1}, .low = {1}}}); }),
                 "1 points, 1 low and 0 high"));
  CHECK(contains(refused([] { (void)plot::bars_chart({}, {}); }), "got 0 groups and 0 series"));
  CHECK(contains(refused([] {
                   (void)plot::bars_chart({"a"}, {{.name = "s", .values = {1, 2}}});
                 }),
                 "expected 1 values, one for each group, in series 's', got 2"));
  CHECK(
      contains(refused([] { (void)plot::bars_chart({"a"}, {{.values = {1}}}, {.highlight = 1}); }),
               "expected a highlight below 1"));
  CHECK(contains(refused([] { (void)plot::histogram_chart({{.name = "a"}}); }),
                 "expected at least one value, got 1 distributions"));
  CHECK(contains(
      refused([] { (void)plot::histogram_chart({{.values = {1}}}, {.low = 2, .high = 1}); }),
      "low below high, got 0 bins, 2 and 1"));
  CHECK(contains(refused([] { (void)plot::confusion_chart(glia::confusion_matrix(2), {"a"}); }),
                 "expected 2 names, got 1"));
  CHECK(contains(refused([] { (void)plot::confusion_chart(glia::confusion_matrix(0), {}); }),
                 "expected 1 to 1000 classes"));
  CHECK(
      contains(refused([] { (void)plot::history_chart(glia::history{}); }), "at least one epoch"));
  CHECK(contains(refused([] { (void)plot::panels_chart({}); }), "expected at least one chart"));
}

TEST_CASE("the first colors can be told apart in gray") {
  std::vector<double> lightness;
  for (const std::string_view color : plot::palette) {
    const auto channel = [&](std::size_t offset) {
      const double v = std::stoi(std::string(color.substr(offset, 2)), nullptr, 16) / 255.0;
      return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    // CIE 1976 L*, 0 to 100
    const double y = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
    lightness.push_back(116 * std::cbrt(y) - 16);
  }
  for (std::size_t a = 0; a < 4; ++a) {
    CHECK(lightness[a] < 85);  // seen on white
    for (std::size_t b = 0; b < a; ++b) {
      CHECK(std::abs(lightness[a] - lightness[b]) > 7);
    }
  }
}
