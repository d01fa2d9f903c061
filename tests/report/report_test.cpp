#include <algorithm>
#include <cmath>
#include <glia/image/png.hpp>
#include <glia/plot/bars.hpp>
#include <glia/plot/curves.hpp>
#include <glia/report.hpp>
#include <limits>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t pos = text.find(part); pos != std::string::npos;
       pos = text.find(part, pos + 1)) {
    ++found;
  }
  return found;
}

/// The page but for its style.
std::string body_of(const glia::report& page) {
  const std::string html = page.html();
  return html.substr(html.find("<body>"));
}

/// Of the tags that have an end: whether each is closed, and nothing else is.
bool closes_all(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t pos = html.find('<'); pos != std::string::npos; pos = html.find('<', pos + 1)) {
    const bool closing = html.compare(pos, 2, "</") == 0;
    const std::size_t begin = pos + (closing ? 2 : 1);
    const std::string name = html.substr(begin, html.find_first_of(" />\n\t", begin) - begin);
    const bool alone = name == "meta" || name == "img" || name == "br" || name == "!DOCTYPE" ||
                       html[html.find('>', pos) - 1] == '/';
    if (closing && (open.empty() || open.back() != name)) {
      return false;
    }
    if (closing) {
      open.pop_back();
    } else if (!alone) {
      open.push_back(name);
    }
  }
  return open.empty();
}

std::vector<std::uint8_t> from_base64(const std::string& digits) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t word = 0;
  std::size_t bits = 0;
  for (const char c : digits) {
    if (c == '=') {
      break;
    }
    word = word << 6U | static_cast<std::uint32_t>(alphabet.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(word >> bits));
    }
  }
  return bytes;
}

/// The pictures in a page, in their order.
std::vector<glia::image> pictures_in(const std::string& html) {
  const std::string begin = "src=\"data:image/png;base64,";
  std::vector<glia::image> pictures;
  for (std::size_t pos = html.find(begin); pos != std::string::npos; pos = html.find(begin, pos)) {
    pos += begin.size();
    pictures.push_back(glia::decode_png(from_base64(html.substr(pos, html.find('"', pos) - pos))));
  }
  return pictures;
}

/// What is read of a page, without its tags.
std::string read_of(const std::string& html) {
  std::string read;
  for (std::size_t pos = 0; pos < html.size();) {
    const std::size_t tag = html.find('<', pos);
    read += html.substr(pos, tag - pos);
    pos = tag == std::string::npos ? tag : html.find('>', tag) + 1;
  }
  return read;
}

/// The rest of it.
std::string tags_of(const std::string& html) {
  std::string tags;
  for (std::size_t pos = html.find('<'); pos != std::string::npos; pos = html.find('<', pos + 1)) {
    tags += html.substr(pos, html.find('>', pos) + 1 - pos);
  }
  return tags;
}

std::string without_pictures(std::string html) {
  const std::string begin = "base64,";
  for (std::size_t pos = html.find(begin); pos != std::string::npos;
       pos = html.find(begin, pos + 1)) {
    html.erase(pos + begin.size(), html.find('"', pos) - pos - begin.size());
  }
  return html;
}

const std::string hostile_text = "</title><script src=\"x\">alert('1')</script>&amp;\" onload='x";
const std::string hostile_as_html =
    "&lt;/title&gt;&lt;script "
    "src=&quot;x&quot;&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&quot; "
    "onload=&#39;x";

glia::history history_of(const std::vector<double>& validation_losses) {
  glia::history h;
  h.metrics = {glia::accuracy(), glia::mae()};
  for (const double loss : validation_losses) {
    glia::epoch_record e;
    e.epoch = h.epochs.size() + 1;
    e.samples = 1000;
    e.seconds = 0.5;
    e.samples_per_second = 2000;
    e.learning_rate = 0.001;
    e.training = {.loss = 0.5, .metric_values = {0.75, 0.125}};
    e.validation = glia::scores{.loss = loss, .metric_values = {0.9876, 0.25}};
    h.epochs.push_back(e);
  }
  return h;
}

/// Pictures (2, 2) or (2, 2, 3) whose values tell their number.
struct numbered_pictures {
  std::vector<std::int32_t> labels;
  glia::shape sample_shape{2, 2};

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] glia::shape input_shape() const { return sample_shape; }
  void input(std::size_t i, std::span<float> values) const {
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(16 * i + k) / 255.0F;
    }
  }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels[i]; }
};

}  // namespace

TEST_CASE("HTML shows texts as they are") {
  CHECK(glia::detail::html_text("a<b> & \"c\" 'd'\n\t") ==
        "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\n\t");
  CHECK(glia::detail::html_text("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x8C\xB1") ==
        "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x8C\xB1");
  const std::string unknown = "\xEF\xBF\xBD";
  // No UTF-8, control characters of one and two bytes, noncharacters.
  for (const char* bytes : {"\xFF", "\x01", "\x7F", "\r", "\xC2\x80", "\xEF\xBF\xBE",
                            "\xEF\xB7\x90", "\xF0\x9F\xBF\xBF"}) {
    CHECK(glia::detail::html_text(bytes) == unknown);
  }
  CHECK(glia::detail::html_text(std::string("a\0b", 3)) == "a" + unknown + "b");
}

TEST_CASE("base64 is that of RFC 4648") {
  const std::string word = "foobar";
  const std::vector<std::string> expected{"",         "Zg==",     "Zm8=",    "Zm9v",
                                          "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t count = 0; count <= word.size(); ++count) {
    CHECK(glia::detail::base64(word.substr(0, count)) == expected[count]);
  }
  CHECK(glia::detail::base64("\xFF\xFE\xFB") == "//77");
}

TEST_CASE("a report is one page that refers to nothing") {
  glia::report page("A run", {.date = "2026-11-22", .processor = "abacus"});
  page.settings({{"data", "MNIST"}});
  page.settings(glia::fit_options{.epochs = 7, .batch_size = 64});
  page.settings(glia::trainer_options{.seed = 11});
  const glia::model net{glia::sequential{glia::dense{5, glia::relu}, glia::dense{3}}, {4}};
  page.add(net);
  page.add(history_of({0.5, 0.25, 0.3}));
  page.add("test", {.loss = 0.2512, .metric_values = {0.98}, .metric_names = {"accuracy"}});
  glia::confusion_matrix counts(2);
  counts.add(0, 1);
  page.add(counts, {"cat", "dog"});
  const xt::xarray<float> outputs{{0, 1}, {1, 0}};
  page.mistakes(outputs, numbered_pictures{{0, 0}});
  page.table({.caption = "Profile", .headers = {"kernel", "time"}, .rows = {{"conv", "3 ms"}}});
  page.add("A chart", glia::plot::curves_chart({{.y = {1, 2}}}));
  const std::string html = page.html();

  CHECK(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"));
  CHECK(contains(html, "<title>A run</title>"));
  for (const char* elsewhere : {"http:", "https:", "//", "@import", "url(", "<link", "<script",
                                "<iframe", "xmlns", "xlink"}) {
    INFO(elsewhere);
    CHECK(!contains(without_pictures(html), elsewhere));
  }
  CHECK(contains(html, "default-src 'none'; style-src 'unsafe-inline'; img-src data:"));
  CHECK(closes_all(html));

  const std::string read = read_of(body_of(page));
  for (const char* part : {"2026-11-22 \xC2\xB7 abacus", "MNIST", "batch size64", "epochs7",
                           "seed11", "dense(5, relu)", "total", "43", "98.76 %",
                           "test accuracy98.00 %", "0.2512", "Worst mistakes", "conv3 ms"}) {
    INFO(part);
    CHECK(contains(read, part));
  }
  // Scores and settings before what was added, that in its order.
  std::size_t last = 0;
  for (const char* title : {"Scores", "Settings", "Model", "Training", "Confusion matrix",
                            "Worst mistakes", "Profile", "A chart"}) {
    const std::size_t position = html.find(std::string("<h2>") + title + "</h2>");
    CHECK(position != std::string::npos);
    CHECK(position > last);
    last = position;
  }
}

TEST_CASE("hostile texts are only texts, wherever they stand") {
  glia::report page(hostile_text, {.date = hostile_text, .processor = hostile_text});
  page.settings({{hostile_text, hostile_text}});
  glia::history h = history_of({0.5});
  h.metrics[0].name = hostile_text;
  h.notes = {hostile_text};
  h.stop_reason = hostile_text;
  h.frozen_layers = hostile_text;
  h.frozen_seconds = 1;
  page.add(h);
  page.add(hostile_text, {.loss = 1, .metric_values = {1}, .metric_names = {hostile_text}});
  glia::model_plan plan;
  plan.description = hostile_text;
  plan.layers.push_back({.name = hostile_text, .description = hostile_text, .output = {1, 2}});
  page.add(plan, {2});
  glia::confusion_matrix counts(2);
  counts.add(0, 1);
  page.add(counts, {hostile_text, hostile_text});
  const xt::xarray<float> outputs{{0, 1}};
  page.mistakes(outputs, numbered_pictures{{0}}, {.names = {hostile_text, hostile_text}});
  page.table({.caption = hostile_text,
              .headers = {hostile_text},
              .rows = {{hostile_text}},
              .note = hostile_text});
  page.add(hostile_text, glia::plot::curves_chart({{.name = hostile_text, .y = {1, 2}}}));
  page.add(hostile_text, {.canvas = {.gnuplot = hostile_text}, .script = "plot 1"});
  glia::confusion_matrix many(31);
  many.add(30, 0);
  page.add(many, std::vector<std::string>(31, hostile_text));

  const std::string html = page.html();
  CHECK(!contains(html, "<script"));
  CHECK(!contains(tags_of(html), "onload='"));
  CHECK(occurrences(html, "<title>") == 1);
  CHECK(occurrences(html, hostile_as_html) > 60);
  CHECK(closes_all(html));
}

TEST_CASE("the worst mistakes are those with the highest loss among the wrong ones") {
  const xt::xarray<float> outputs{{2, 1, 0},         // right, though with a high loss
                                  {3, 0, 0},         // of class 1: ln(e^3 + 2) = 3.0949
                                  {0, 0, 5},         // of class 0: ln(e^5 + 2) = 5.0134
                                  {1, 0.5F, 0},      // of class 2: ln(e + e^0.5 + 1) = 1.6803
                                  {3, 0, 0},         // as the second
                                  {0.125F, 0, -8}};  // of class 2: 8.7577, and sure of nothing
  const std::vector<std::int32_t> truth{0, 1, 0, 2, 2, 2};
  const auto found = glia::worst_mistakes(outputs, truth, 4);
  CHECK(found.wrong == 5);
  CHECK(found.samples == 6);
  REQUIRE(found.worst.size() == 4);
  CHECK(found.worst[0].sample == 5);
  CHECK(found.worst[1].sample == 2);
  CHECK(found.worst[2].sample == 1);
  CHECK(found.worst[3].sample == 4);
  CHECK(found.worst[0].loss == Approx(8.7577).epsilon(1e-4));
  CHECK(found.worst[1].truth == 0);
  CHECK(found.worst[1].predicted == 2);
  CHECK(found.worst[1].loss == Approx(5.0134).epsilon(1e-4));
  CHECK(found.worst[2].loss == Approx(3.0949).epsilon(1e-4));
  CHECK(found.worst[2].probability == Approx(std::exp(3) / (std::exp(3) + 2)));
  CHECK(found.worst[2].truth_probability == Approx(1 / (std::exp(3) + 2)));

  SECTION("of probabilities") {
    const xt::xarray<float> p{{0.5F, 0.25F, 0.25F}, {0.7F, 0.2F, 0.1F}};
    const auto mistakes =
        glia::worst_mistakes(p, std::vector<std::int32_t>{1, 2}, 9, glia::output_kind::softmax);
    REQUIRE(mistakes.worst.size() == 2);
    CHECK(mistakes.worst[0].sample == 1);
    CHECK(mistakes.worst[0].loss == Approx(-std::log(0.1)).epsilon(1e-6));
    CHECK(mistakes.worst[0].probability == Approx(0.7));
  }
  SECTION("of a single output") {
    xt::xarray<float> y{1, -2, 3};
    y.reshape({3, 1});
    const auto mistakes = glia::worst_mistakes(y, std::vector<std::int32_t>{0, 1, 1}, 9);
    REQUIRE(mistakes.worst.size() == 2);
    CHECK(mistakes.worst[0].sample == 1);
    CHECK(mistakes.worst[0].loss == Approx(std::log1p(std::exp(2))));
    CHECK(mistakes.worst[1].predicted == 1);
    CHECK(mistakes.worst[1].probability == Approx(1 / (1 + std::exp(-1))));
    xt::xarray<float> p{0.75F};
    p.reshape({1, 1});
    CHECK(glia::worst_mistakes(p, std::vector<std::int32_t>{0}, 1, glia::output_kind::sigmoid)
              .worst.at(0)
              .loss == Approx(std::log(4)));
  }
  SECTION("infinite outputs") {
    const float infinite = std::numeric_limits<float>::infinity();
    const xt::xarray<float> y{{infinite, 0}, {500, -500}};
    const auto mistakes = glia::worst_mistakes(y, std::vector<std::int32_t>{1, 1}, 9);
    CHECK(mistakes.worst.at(0).sample == 0);
    CHECK(mistakes.worst[0].probability == 1);
    CHECK(mistakes.worst[0].loss == INFINITY);
    CHECK(mistakes.worst.at(1).loss == Approx(1000));
  }
  SECTION("what does not fit") {
    const auto attempt = [](const xt::xarray<float>& y, std::vector<std::int32_t> t) {
      return [=] { (void)glia::worst_mistakes(y, t, 1); };
    };
    CHECK(contains(message_of<glia::shape_error>(attempt({{1, 2}}, {0, 1})), "outputs (2, K)"));
    CHECK(
        contains(message_of<glia::data_error>(attempt({{1, 2}}, {2})), "sample 0 has the class 2"));
    CHECK(contains(message_of<glia::data_error>(attempt({{NAN, 2}}, {0})), "not a number (NaN)"));
  }
}

TEST_CASE("mistakes are shown as pictures that can be read again") {
  glia::model net{glia::sequential{glia::flatten{}, glia::dense{2}}, {2, 2}};
  net.set("dense_0.kernel", xt::zeros<float>({4, 2}));
  net.set("dense_0.bias", xt::xarray<float>{0, 2});
  glia::report page("mistakes");
  page.mistakes(net, numbered_pictures{{1, 0, 1, 0}}, {.names = {"cat", "dog"}});
  const auto gray = pictures_in(page.html());
  REQUIRE(gray.size() == 2);
  CHECK(gray[0].pixels ==
        std::vector<std::uint8_t>{16, 16, 16, 17, 17, 17, 18, 18, 18, 19, 19, 19});
  CHECK(gray[1].pixels[0] == 48);
  const std::string read = read_of(body_of(page));
  CHECK(contains(read, "2 mistakes among 4 samples"));
  CHECK(contains(read, "cat predicted as dog dog: 88.08 %cat: 11.92 %sample 1"));

  const xt::xarray<float> outputs{{0, 1}};
  const auto shown = [&](const numbered_pictures& data, const glia::mistakes_options& options) {
    glia::report report("one");
    report.mistakes(outputs, data, options);
    return pictures_in(report.html());
  };
  const auto colors = shown({{0}, {2, 2, 3}}, {});
  REQUIRE(colors.size() == 1);
  CHECK(colors[0].pixels == std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(shown({{0}, {12}}, {.picture_shape = {2, 2, 3}}).at(0) == colors[0]);
  CHECK(shown({{0}, {12}}, {}).empty());
  // Beyond white is white, and what is black may be the higher value.
  CHECK(shown({{0}, {1, 2}}, {.black = 1 / 255.0F, .white = 0}).at(0).pixels ==
        std::vector<std::uint8_t>{255, 255, 255, 0, 0, 0});
  const glia::image picture = glia::filled_image(3, 5, {9, 8, 7});
  CHECK(shown({{0}}, {.picture = [&](std::size_t) { return picture; }}).at(0) == picture);

  glia::report empty("none");
  empty.mistakes(outputs, numbered_pictures{{1}});
  CHECK(contains(empty.html(), "No mistakes among 1 samples"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)shown({{0}, {12}}, {.picture_shape = {3, 4, 2}});
                 }),
                 "with the size of samples (12,), got (3, 4, 2)"));
  CHECK(contains(message_of<glia::value_error>([&] { (void)shown({{0}}, {.black = 1}); }),
                 "expected black and white to be different"));
  CHECK(contains(message_of<glia::value_error>([&] { (void)shown({{0}}, {.names = {"a"}}); }),
                 "expected one name for each class, got 1 names"));
}

TEST_CASE("a confusion matrix is shown with each class's precision and recall") {
  glia::confusion_matrix counts(2);
  for (int i = 0; i < 3; ++i) {
    counts.add(0, 0);
  }
  counts.add(0, 1);
  counts.add(1, 1);
  glia::report page("confusion");
  page.add(counts, {"cat", "dog"});
  const std::string html = page.html();
  CHECK(contains(html, "<td class=\"right deep\" style=\"--depth:0.750\">3</td>"));
  CHECK(contains(html, "<td class=\"wrong\" style=\"--depth:0.500\">1</td>"));
  CHECK(contains(html, "<td class=\"none\">0</td>"));
  const std::string read = read_of(html);
  CHECK(contains(read, "5 samples, of which 80.00 % are predicted correctly"));
  CHECK(contains(read, "cat4100.00 %75.00 %"));
  CHECK(contains(read, "dog150.00 %100.00 %"));
  CHECK(contains(message_of<glia::value_error>([&] { page.add(counts, {"cat"}); }),
                 "the 2 classes of the confusion matrix, got 1 names"));

  glia::confusion_matrix many(31);
  many.add(30, 29);
  many.add(4, 5);
  many.add(4, 5);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < 31; ++k) {
    names.push_back("class" + std::to_string(k));
  }
  glia::report large("large");
  large.add(many, names);
  CHECK(contains(read_of(large.html()), "class4class52\nclass30class291\n"));
}

TEST_CASE("a history is shown with its last and its best scores") {
  glia::report page("training");
  glia::history h = history_of({0.5, 0.25, 0.3});
  h.notes = {"going on from step 5"};
  h.stop_reason = "no better loss";
  page.add(h);
  const std::string read = read_of(body_of(page));
  CHECK(contains(read, "training, epoch 30.575.00 %0.125\n"));
  CHECK(contains(read, "validation, lowest loss, epoch 20.2598.76 %0.25\n"));
  CHECK(contains(read, "validation, epoch 30.398.76 %0.25\n"));
  CHECK(contains(read, "training time1.5 s"));
  CHECK(contains(read, "Stopped: no better loss"));
  CHECK(contains(read, "going on from step 5"));
  CHECK(occurrences(body_of(page), "<svg") == 3);
  CHECK(occurrences(body_of(page), "aria-label=\"loss by epoch\"") == 1);

  page.add("by hand", {.loss = 0.125, .metric_values = {0.5}, .metric_names = {"mae", "more"}});
  CHECK(contains(read_of(body_of(page)), "by hand mae0.5"));

  glia::report empty("empty");
  empty.add(glia::history{});
  CHECK(contains(empty.html(), "No epoch was completed"));
}

TEST_CASE("times are as long as they are read") {
  using glia::detail::duration_text;
  CHECK(duration_text(0.01234) == "0.0123 s");
  CHECK(duration_text(99.9) == "99.9 s");
  CHECK(duration_text(99.96) == "1 min 40 s");
  CHECK(duration_text(123) == "2 min 03 s");
  CHECK(duration_text(3599.9) == "1 h 00 min");
  CHECK(duration_text(7260) == "2 h 01 min");
  CHECK(duration_text(NAN) == "nan s");
}

TEST_CASE("charts keep to themselves in a page") {
  glia::report page("charts");
  const auto chart = glia::plot::curves_chart({{.name = "id='gpDot'", .y = {1, 2}}});
  page.add("one", chart);
  page.add("two", chart);
  const std::string body = body_of(page);
  std::vector<std::string> ids;
  for (std::size_t pos = body.find(" id="); pos != std::string::npos;
       pos = body.find(" id=", pos + 1)) {
    if (body[pos + 4] == '"' || body[pos + 4] == '\'') {
      ids.push_back(body.substr(pos + 5, body.find(body[pos + 4], pos + 5) - pos - 5));
    }
  }
  CHECK(ids.size() > 20);
  std::sort(ids.begin(), ids.end());
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  CHECK(occurrences(body, "href='#chart2-") == occurrences(body, "href='#") / 2);
  CHECK(occurrences(read_of(body), "id='gpDot'") == 2);
  CHECK(!contains(body, "gnuplot_plot_1</title>"));
  CHECK(!contains(body, "GNUPLOT"));
  CHECK(
      glia::detail::svg_rewriter("<svg ><a fill = 'url(#b)' c=\"d\"/></svg>", "p-").element("<") ==
      "<svg role=\"img\" aria-label=\"&lt;\"><a fill='url(#p-b)' c=\"d\"/></svg>");

  // All attributes are there still.
  const auto bars = glia::plot::bars_chart({"a", "b"}, {{.values = {1, 2}}});
  page.add("bars", bars);
  CHECK(occurrences(page.html(), "<polygon fill='rgb(") == 2);
  CHECK(occurrences(page.html(), "points='") == occurrences(glia::plot::svg(bars), "points = '"));

  page.add("three", {.canvas = {.gnuplot = "/nowhere/gnuplot"}, .script = "plot 1"});
  CHECK(contains(page.html(), "apt-get install gnuplot-nox"));
}

TEST_CASE("tables of any kind stand in a report") {
  glia::report page("tables");
  page.table({.caption = "Times",
              .headers = {"kernel", "time", "name"},
              .rows = {{"conv", "3 ms", "x"}, {"dense", "-1 ms", "3"}, {"all", "", ""}},
              .totals = true,
              .note = "of one step"});
  const std::string html = page.html();
  CHECK(contains(html, "<th scope=\"col\" class=\"number\">time</th>"));
  CHECK(contains(html, "<td class=\"number\">-1 ms</td>"));
  CHECK(contains(html, "<td>3</td>"));
  CHECK(contains(html, "</tbody>\n<tfoot>\n<tr><th scope=\"row\">all</th>"));
  CHECK(contains(html, "of one step"));
  CHECK(contains(message_of<glia::value_error>([&] {
                   page.table({.caption = "T", .headers = {"a"}, .rows = {{"1"}, {"1", "2"}}});
                 }),
                 "expected 1 cells, one for each header, in row 1 of table 'T', got 2"));
  CHECK(contains(message_of<glia::value_error>([&] { page.table({.caption = "T"}); }),
                 "expected headers for the columns of table 'T'"));
}

TEST_CASE("a report is written whole or not at all") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "report.html";
  const glia::report page("one", {.date = "today"});
  page.write(path);
  CHECK(test::file_content(path) == page.html());
  CHECK(contains(message_of<glia::data_error>([&] { page.write(folder.path() / "no/r.html"); }),
                 "no/r.html: cannot be written"));
  const std::string html = glia::report("two").html();
  CHECK(contains(html, "byline\">20"));
  CHECK(contains(html, glia::detail::html_text(glia::processor_name())));
}

TEST_CASE("a report of a profile has its bars and its tables") {
  glia::profile found;
  found.first_step = 4;
  found.steps = 2;
  found.seconds = 0.01;
  found.batch_size = 32;
  glia::profile_entry e;
  e.layer = "a<b";
  e.kernel = "dense";
  e.seconds = 0.006;
  e.flops = 6e6;
  found.entries = {e};
  found.activities.emplace_back("data", 0.002);
  glia::report page("profiled");
  page.add(found);
  const std::string html = page.html();
  CHECK(test::contains(html, "a&lt;b"));
  CHECK_FALSE(test::contains(html, "a<b"));
  CHECK(test::contains(html, "Steps 4 to 5, 32 samples each"));
  CHECK(test::contains(html, "<td class=\"number\">60.0</td>"));  // of the steps' time
  CHECK(test::contains(html, "<h2>Memory</h2>"));
  CHECK(test::contains(html, "not accounted for"));
  CHECK_THROWS_AS(page.add(glia::profile{}), glia::value_error);
}
