#include <cstdio>
#include <glia/data/csv.hpp>
#include <limits>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

constexpr const char* flowers =
    "width,length,species\n"
    "1.5,2,tulip\n"
    "-3,0.25,rose\n"
    "4e1,1,tulip\n";

/// A file that holds this text, "table.csv".
class csv_file {
 public:
  explicit csv_file(const std::string& content) {
    folder_.write("table.csv", {content.begin(), content.end()});
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "table.csv"; }

  /// What reading it fails with, its folder left out; else "".
  [[nodiscard]] std::string error(const glia::csv_options& options = {}) const {
    return without_folder([&] { (void)glia::read_csv(path(), options); });
  }
  template <class Call>
  [[nodiscard]] std::string without_folder(const Call& call) const {
    std::string message = message_of<glia::data_error>(call);
    if (const auto position = message.find(folder_.path().string());
        position != std::string::npos) {
      message.erase(position, folder_.path().string().size() + 1);
    }
    return message;
  }

 private:
  test::temporary_folder folder_;
};

glia::csv_table table_of(const std::string& content, const glia::csv_options& options = {}) {
  return glia::read_csv(csv_file(content).path(), options);
}

std::string csv_error(const std::string& content, const glia::csv_options& options = {}) {
  return csv_file(content).error(options);
}

std::vector<float> cells_of(const glia::csv_table& table, const std::string& name) {
  const xt::xarray<float> values = table.column(name);
  CHECK(values.dimension() == 1);
  return {values.begin(), values.end()};
}

/// What a table of the one column x says of a cell.
float number_from(const std::string& cell, const glia::csv_options& options = {}) {
  return cells_of(table_of("x\n" + cell, options), "x").at(0);
}

template <class D>
std::vector<float> csv_sample(const D& data, std::size_t i) {
  std::vector<float> values(data.input_shape().size());
  data.input(i, values);
  return values;
}

const glia::csv_options with_species{.text_columns = {"species"}};

}  // namespace

TEST_CASE("a table has names, rows, columns and classes") {
  const glia::csv_table table = table_of(flowers, with_species);
  CHECK(table.names() == std::vector<std::string>{"width", "length", "species"});
  CHECK(table.rows() == 3);
  CHECK(cells_of(table, "width") == std::vector<float>{1.5F, -3, 40});
  CHECK(cells_of(table, "length") == std::vector<float>{2, 0.25F, 1});
  // Of rose and tulip in sorted order, however they came.
  CHECK(cells_of(table, "species") == std::vector<float>{1, 0, 1});
  CHECK(table.class_names("species") == std::vector<std::string>{"rose", "tulip"});
  const xt::xarray<float> both = table.columns({"length", "species"});
  CHECK(both.shape() == xt::xarray<float>::shape_type{3, 2});
  CHECK(std::vector<float>(both.begin(), both.end()) == std::vector<float>{2, 1, 0.25F, 0, 1, 1});
  CHECK(contains(message_of<glia::data_error>([&] { (void)table.columns({"height"}); }), "height"));
  CHECK_THROWS_AS((void)table.columns({}), glia::value_error);
}

TEST_CASE("a table becomes samples with classes") {
  const glia::csv_table table = table_of(flowers, with_species);
  const glia::labeled_arrays samples = table.with_labels("species");
  CHECK(samples.size() == 3);
  CHECK(samples.input_shape() == glia::shape{2});
  CHECK(csv_sample(samples, 1) == std::vector<float>{-3, 0.25F});
  CHECK(samples.label(0) == 1);
  CHECK(samples.label(1) == 0);
  const glia::labeled_arrays chosen =
      table.with_labels("species", {.inputs = {"length", "width", "length"}});
  CHECK(csv_sample(chosen, 0) == std::vector<float>{2, 1.5F, 2});

  const glia::csv_table digits = table_of("label,a,b\n7,1,2\n0,3,4\n");
  CHECK(digits.with_labels("label").label(0) == 7);
  CHECK(csv_sample(digits.with_labels("label"), 1) == std::vector<float>{3, 4});
  CHECK(digits.with_labels("b", {.inputs = {"label"}}).label(1) == 4);
}

TEST_CASE("a table becomes samples with values") {
  const glia::csv_table table = table_of("a,price,b,rent\n1,2,3,4\n5,6,7,8\n");
  const glia::target_arrays one_target = table.with_targets({"price"});
  CHECK(one_target.input_shape() == glia::shape{3});
  CHECK(one_target.target_shape() == glia::shape{1});
  CHECK(csv_sample(one_target, 1) == std::vector<float>{5, 7, 8});
  const glia::target_arrays two_targets = table.with_targets({"rent", "price"}, {.inputs = {"b"}});
  CHECK(csv_sample(two_targets, 1) == std::vector<float>{7});
  std::vector<float> targets(2);
  two_targets.target(0, targets);
  CHECK(targets == std::vector<float>{4, 2});
}

TEST_CASE("cells are quoted and lines end as RFC 4180 says") {
  const auto names_of = [](const std::string& content) {
    return table_of("text,x\n" + content, {.text_columns = {"text"}}).class_names("text");
  };
  using names = std::vector<std::string>;
  CHECK(names_of("\"a,b\",1\n") == names{"a,b"});
  CHECK(names_of("\"say \"\"hi\"\"\",1\n") == names{"say \"hi\""});
  CHECK(names_of("\"\"\"\",\"1\"\n") == names{"\""});
  CHECK(names_of("\"two\r\nlines\",1\n") == names{"two\r\nlines"});
  CHECK(names_of(" a ,1\n") == names{" a "});

  const std::vector<float> expected{1, 2};
  for (const char* content : {"x,y\n1,3\n2,4\n", "x,y\n1,3\n2,4", "x,y\r\n1,3\r\n2,4\r\n",
                              "x,y\r\n1,3\r\n2,4", "\xEF\xBB\xBFx,y\n1,3\n2,4\n\r\n\n",
                              "\"x\",\"y\"\n\"1\",\"3\"\n\"2\",\"4\"", "x,y\n 1 ,3\n2\t,4"}) {
    const glia::csv_table table = table_of(content);
    CHECK(cells_of(table, "x") == expected);
    CHECK(cells_of(table, "y") == std::vector<float>{3, 4});
  }
  CHECK(cells_of(table_of("x;y\n1;3\n2;4\n", {.delimiter = ';'}), "x") == expected);
  CHECK(cells_of(table_of("x\ty\n1\t3\n2\t4\n", {.delimiter = '\t'}), "x") == expected);
}

TEST_CASE("columns without names are counted") {
  const glia::csv_table table =
      table_of("1,\"2\",a\n4,5,b", {.header = false, .text_columns = {"2"}});
  CHECK(table.names() == std::vector<std::string>{"0", "1", "2"});
  CHECK(table.rows() == 2);
  CHECK(cells_of(table, "1") == std::vector<float>{2, 5});
  CHECK(table.class_names("2") == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a cell's number is the nearest float") {
  for (const auto& [cell, expected] : std::initializer_list<std::pair<const char*, float>>{
           {"0", 0.0F},
           {"+7", 7.0F},
           {"0.1", 0.1F},
           {".5", 0.5F},
           {"5.", 5.0F},
           {"-0.3", -0.3F},
           {"9999999", 9999999.0F},
           {"16777216", 16777216.0F},
           {"16777217.5", 16777218.0F},
           {"1.6777217e7", 16777216.0F},
           {"3.4028235677e38", 3.4028235e38F},
           {"1e-400", 0.0F},
           {"0.00001e-400", 0.0F},
           {"1000000e-99999999999999999999", 0.0F},
           {"0e99999", 0.0F},
           {"0.0000001", 1e-7F},
           {"1234.5678", 1234.5678F},
           {"-1e-3", -1e-3F},
           {"3.4028235e38", 3.4028235e38F},
           {"1e-45", 1.4e-45F},
           {"1e-50", 0.0F},
           {"-0.00000000000000000000000000000000000000000000000000001", 0.0F}}) {
    CHECK(number_from(cell) == expected);
  }
  // Those of up to 7 digits are read in a way of their own.
  for (std::uint64_t i = 0; i < 2000; ++i) {
    std::string cell = std::to_string(glia::detail::random_bits({.seed = 5}, 2 * i) % 20000000);
    const bool few_digits = cell.size() <= 7;
    cell.insert(glia::detail::random_bits({.seed = 5}, 2 * i + 1) % (cell.size() + 1), ".");
    glia::detail::csv_cells quick(cell, ',', "");
    float value = 0;
    CHECK(quick.next_short_number(value) == few_digits);
    float nearest = 0;
    (void)glia::detail::number_in(cell, nearest);
    CHECK((!few_digits || value == nearest));
  }
}

TEST_CASE("empty cells and special values are errors, or what the options say") {
  const char* content = "x,y\n1,\n,2\n";
  CHECK(csv_error(content) ==
        "table.csv:2: column 'y': expected a number, got an empty cell; set "
        "csv_options::filling_value "
        "to accept empty cells");
  const glia::csv_table table = table_of(content, {.filling_value = -1.0F});
  CHECK(cells_of(table, "x") == std::vector<float>{1, -1});
  CHECK(cells_of(table, "y") == std::vector<float>{-1, 2});
  CHECK(std::isnan(cells_of(table_of(content, {.filling_value = NAN}), "y").at(0)));
  const glia::csv_options both{.text_columns = {"y"}, .filling_value = 0.0F};
  CHECK(table_of(content, both).class_names("y") == std::vector<std::string>{"", "2"});
  CHECK(csv_error(content, {.text_columns = {"y"}}) ==
        "table.csv:2: column 'y': expected text, got an empty cell; set "
        "csv_options::filling_value to accept empty cells");

  const char* special = "x\nnan\n-inf\n";
  CHECK(csv_error(special) ==
        "table.csv:2: column 'x': expected a number, got 'nan'; set csv_options::allow_non_finite "
        "to accept it");
  const std::vector<float> values = cells_of(table_of(special, {.allow_non_finite = true}), "x");
  CHECK(std::isnan(values.at(0)));
  CHECK(values.at(1) == -INFINITY);
}

TEST_CASE("a cell that is no number is named by file, line and column") {
  const std::string text_advice =
      "; if the column holds text, list it in csv_options::text_columns";
  const auto error = [](const std::string& cell) {
    return csv_error("width\n1\n" + cell + "\n2\n");
  };
  CHECK(error("abc") == "table.csv:3: column 'width': expected a number, got 'abc'" + text_advice);
  for (const char* cell : {"--1", "+-1", "+", "1.2.3", "1e", "12a", "12345678x"}) {
    CHECK(error(cell) ==
          "table.csv:3: column 'width': expected a number, got '" + std::string(cell) + "'");
  }
  const auto advice = [&](const std::string& cell) {
    const std::string message = error(cell);
    return message.substr(std::min(message.size(), message.rfind("';") + 3));
  };
  for (const char* cell :
       {"3.5e38", "1e39", "-1e39", "1e400", "-1e400", "0.1e99999999999999999999"}) {
    INFO(cell);
    CHECK(advice(cell) == "the largest number that a float can hold is 3.4028235e38");
  }
  CHECK(advice("0x1F") == "expected a decimal number");
  for (const char* cell : {"NA", "-", "null", "?", " N/A "}) {
    INFO(cell);
    CHECK(advice(cell) ==
          "if it means that the value is missing, add it to csv_options::missing_texts and set "
          "csv_options::filling_value");
  }
  CHECK(advice("1;2") == "if semicolons separate the cells, set csv_options::delimiter");
  CHECK(advice("1\t2") == "if tabs separate the cells, set csv_options::delimiter");
  for (const char* cell : {"\"1,234\"", "\"1,5\"", "1 234", "1'000.5", "1_000"}) {
    INFO(cell);
    CHECK(advice(cell) ==
          "write numbers with a decimal point and without separators between digits");
  }
  CHECK(contains(csv_error("a;b\n1,5;2\n", {.delimiter = ';'}),
                 "write numbers with a decimal point"));
  CHECK(error("\"a\nb\"") ==
        "table.csv:3: column 'width': expected a number, got 'a b'" + text_advice);
  CHECK(csv_error("a,b\nx,y\n") ==
        "table.csv:2: column 'a': expected a number, got 'x'" + text_advice);
  // Lines within quotes count.
  CHECK(csv_error("a,b\n1,\"2\n\"\n3,x\n", {.text_columns = {"b"}}).empty());
  CHECK(csv_error("b,a\n\"2\n\",1\n3,x\n", {.text_columns = {"b"}}) ==
        "table.csv:4: column 'a': expected a number, got 'x'" + text_advice);
  // Of a long one there is the beginning, of whole letters.
  const std::string umlauts = "x\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4";
  CHECK(error(umlauts + umlauts + umlauts) ==
        "table.csv:3: column 'width': expected a number, got '" + umlauts + umlauts +
            umlauts.substr(0, 9) + "...'" + text_advice);
}

TEST_CASE("an integer that a float cannot hold is refused or rounded, as the options say") {
  const auto refused = [](const std::string& cell) { return csv_error("id\n" + cell + "\n"); };
  CHECK(refused("16777217") ==
        "table.csv:2: column 'id': expected a number, got '16777217'; a float cannot hold this "
        "integer exactly; set csv_options::round_integers to round it, or list the column in "
        "csv_options::text_columns if it holds identifiers");
  for (const char* cell :
       {"-16777217", "+16777217", "123456789", "123456790", "0016777217", "123456789.0",
        "9223372036854775807", "18446744073709551615", "100000000000000000000000000000000000000"}) {
    INFO(cell);
    CHECK(contains(refused(cell), "a float cannot hold this integer exactly"));
    CHECK(number_from(cell, {.round_integers = true}) == std::stof(cell));
  }
  for (const char* cell : {"16777216", "16777218", "-33554432", "123456792", "9223372036854775808",
                           "016777218.00", "1.23456789e8", "123456789e0", "33554431.5"}) {
    INFO(cell);
    CHECK(number_from(cell) == std::stof(cell));
  }
}

TEST_CASE("a table that is no UTF-8 is refused as such") {
  for (const std::string& content : {std::string("\xFF\xFE"
                                                 "a\0,\0",
                                                 6),
                                     std::string("\xFE\xFF\0a", 4)}) {
    CHECK(csv_error(content) ==
          "table.csv: expected a file in UTF-8, got one in UTF-16; save it as UTF-8");
  }
  CHECK(csv_error(std::string("a,b\n1,\0"
                              "2\n",
                              9)) ==
        "table.csv:2: expected text in UTF-8, got a zero byte; the file is in UTF-16 or is not a "
        "text file; save it as UTF-8");
  CHECK(contains(csv_error(std::string("a\0\n\0", 4)),
                 "table.csv:1: expected text in UTF-8, got a zero byte"));
}

TEST_CASE("tables of another form are refused") {
  CHECK(csv_error("a,b,c\n1,2,3\n1,2\n") == "table.csv:3: expected 3 cells, got 2");
  CHECK(csv_error("a,b,c\n1,2,3,4\n") == "table.csv:2: expected 3 cells, got 4");
  CHECK(csv_error("a,b,c\n1,2,3\n\n4,5,6\n") == "table.csv:3: expected 3 cells, got 1");
  CHECK(csv_error("a,b,c\n1,2,3\n1,x\n") == "table.csv:3: expected 3 cells, got 2");
  CHECK(csv_error("a,b\n1,2,\n") == "table.csv:2: expected 2 cells, got 3");
  CHECK(csv_error("").find("table.csv: the file is empty") == 0);
  CHECK(csv_error("\xEF\xBB\xBF\r\n\n").find("table.csv: the file is empty") == 0);
  CHECK(csv_error("a,b\n") == "table.csv: expected rows below the header, got none");
  CHECK(csv_error("5,0,0\n4,0,1\n") ==
        "table.csv:1: two columns have the name '0'; if the file has no line of names, set "
        "csv_options::header to false");
  CHECK(csv_error("a,b\n1,2\n", {.text_columns = {"c"}}) ==
        "table.csv: there is no column 'c'; the columns are: a, b");
  CHECK(csv_error("a\n\"x\n1\n", {.text_columns = {"a"}}) ==
        "table.csv:2: a cell begins with a quote here, but its closing quote is missing");
  CHECK(csv_error("a\n1\n\"", {.text_columns = {"a"}}) ==
        "table.csv:3: a cell begins with a quote here, but its closing quote is missing");
  CHECK(csv_error("a\n\"x\"y\n", {.text_columns = {"a"}}) ==
        "table.csv:2: expected the end of the cell after its closing quote");
  CHECK(csv_error("a\n5\" disk\n", {.text_columns = {"a"}}) ==
        "table.csv:2: a quote within a cell; put the whole cell in quotes and write each quote in "
        "it twice");
  CHECK(csv_error("a,b\r1,2\r") ==
        "table.csv:1: a carriage return (CR) within a cell; expected lines that end in LF or CR "
        "LF, or the cell in quotes");
  for (const char d : {'"', '\n', '.', '-', '5', 'e'}) {
    CHECK(
        contains(message_of<glia::value_error>([&] { (void)table_of("a\n1\n", {.delimiter = d}); }),
                 "read_csv: expected a delimiter other than letters, digits, quotes, line breaks "
                 "and the characters . + -, got '"));
  }
  const test::temporary_folder folder;
  const std::string name = folder.path().string();
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_csv(folder.path()); }) ==
        name + ": is a folder; expected a file");
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_csv(folder.path() / "no.csv"); }) ==
        (folder.path() / "no.csv").string() + ": no such file");
}

TEST_CASE("what a table cannot give is named") {
  const csv_file file("id,a,b\nx,0,1\ny,2.5,3\n");
  const glia::csv_table table = glia::read_csv(file.path(), {.text_columns = {"id"}});
  const auto data = [&](const auto& call) { return file.without_folder([&] { call(); }); };
  const auto value = [](const auto& call) { return message_of<glia::value_error>(call); };
  CHECK(data([&] { (void)table.column("c"); }) ==
        "table.csv: there is no column 'c'; the columns are: id, a, b");
  CHECK(contains(data([&] { (void)table.with_labels("c"); }), "no column 'c'"));
  CHECK(contains(data([&] { (void)table.with_targets({"a", "c"}); }), "no column 'c'"));
  CHECK(contains(data([&] { (void)table.with_labels("a", {.inputs = {"c"}}); }), "no column 'c'"));
  CHECK(data([&] { (void)table.with_labels("a", {.inputs = {"b"}}); }) ==
        "table.csv: column 'a', row 2: expected a class index, a whole number from 0 to 16777216, "
        "got 2.5; for real-valued targets, use with_targets");
  CHECK(value([&] { (void)table.with_targets({"a"}); }) ==
        "with_targets: the column 'id' holds text; list the input columns with {.inputs = {...}}; "
        "a text column in this list is read as class indices");
  CHECK(csv_sample(table.with_targets({"a"}, {.inputs = {"id", "b"}}), 1) ==
        std::vector<float>{1, 3});
  CHECK(value([&] {
          (void)table.with_labels("b", {.inputs = {"a", "b"}});
        }) == "with_labels: the column 'b' holds labels or targets and cannot be an input");
  CHECK(value([&] { (void)table.with_targets({}); }) ==
        "with_targets: expected the names of one or more columns, got an empty list");
  CHECK(value([&] { (void)table.class_names("a"); }) ==
        "class_names: the column 'a' holds numbers; to read it as text, add its name to "
        "csv_options::text_columns");
  CHECK(contains(value([] { (void)table_of("a\n1\n").with_labels("a"); }),
                 "has no input columns left beside those of labels or targets"));
  const glia::csv_table odd = table_of("a,x\n-1,0\n16777218,0\n");
  CHECK_THROWS_AS(odd.with_labels("a"), glia::data_error);
  CHECK_THROWS_AS(table_of("a,x\n16777218,0\n").with_labels("a"), glia::data_error);

  std::string wide = "0";
  for (int i = 1; i < 30; ++i) {
    wide += "," + std::to_string(i);
  }
  CHECK(csv_error(wide + "\n", {.header = false, .text_columns = {"x"}}) ==
        "table.csv: there is no column 'x'; the columns are: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
        "12, 13, "
        "14, 15, 16, 17, 18, 19, ...");
}

TEST_CASE("texts that mean missing are empty cells") {
  const std::string file = "age,city\n31,Ulm\n NA ,?\n-1,\n";
  const glia::csv_options options{
      .text_columns = {"city"}, .filling_value = 0.5F, .missing_texts = {"NA", "?", "-1"}};
  const auto table = table_of(file, options);
  CHECK(cells_of(table, "age") == std::vector<float>{31, 0.5F, 0.5F});
  CHECK(table.class_names("city") == std::vector<std::string>{"", "Ulm"});
  CHECK(cells_of(table, "city") == std::vector<float>{1, 0, 0});
  CHECK(csv_error(file, {.text_columns = {"city"}, .missing_texts = {"NA"}}) ==
        "table.csv:3: column 'age': expected a number, got ' NA '; set "
        "csv_options::filling_value to accept empty cells");
}

TEST_CASE("dates are days since 1970") {
  const auto days = [](const std::string& cell) {
    return cells_of(table_of("day\n" + cell + "\n", {.date_columns = {"day"}}), "day").at(0);
  };
  CHECK(days("1970-01-01") == 0);
  CHECK(days("1969-12-31") == -1);
  CHECK(days("2000-02-29") == 11016);
  CHECK(days(" 2026-11-28 ") == 20785);
  CHECK(days("1970-01-02 06:00") == 1.25F);
  CHECK(days("1970-01-02T06:00:00Z") == 1.25F);
  CHECK(days("1970-01-01T00:00:43.200") == Approx(0.0005));
  const auto error = [](const std::string& cell) {
    return csv_error("day\n" + cell + "\n", {.date_columns = {"day"}});
  };
  for (const char* cell :
       {"2026-02-29", "2026-13-01", "2026-1-1", "28.11.2026", "2026-11-28 24:00", "2026-11-28 1:00",
        "2026-11-28 12:60", "2026-11-28T12:00:60", "2026-11-28T12:00+01:00", "2026-11-28T",
        "2026-11-28T12:00:00.", "2026-11-28x", "20261128", "7"}) {
    CHECK(error(cell) == "table.csv:2: column 'day': expected a date, got '" + std::string(cell) +
                             "'; write dates as 2026-11-28, 2026-11-28 16:45 or "
                             "2026-11-28T16:45:30Z");
  }
  CHECK(contains(csv_error("a,day\n1,\n", {.date_columns = {"day"}}),
                 "expected a date, got an empty cell"));
  CHECK(cells_of(table_of("a,day\n1,\n", {.date_columns = {"day"}, .filling_value = 7}), "day") ==
        std::vector<float>{7});
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)table_of("day\n1\n", {.text_columns = {"day"}, .date_columns = {"day"}});
                 }),
                 "'day' is listed both as a column of text and as one of dates"));
}

TEST_CASE("given class names keep their order, and other texts are unknown") {
  const glia::csv_options options{.class_names = {{"city", {"Ulm", "Bonn"}}}};
  const auto table = table_of("city,x\nBonn,1\nKiel,2\nUlm,3\n", options);
  CHECK(table.class_names("city") == std::vector<std::string>{"Ulm", "Bonn"});
  CHECK(cells_of(table, "city") == std::vector<float>{1, 2, 0});
  CHECK(contains(message_of<glia::data_error>([&] { (void)table.with_labels("city"); }),
                 "column 'city', row 2: the text is not among the class names"));
  CHECK(table_of("city,x\nBonn,1\n", options).with_labels("city").label(0) == 1);
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)table_of("city\nUlm\n", {.class_names = {{"city", {"Ulm", "Ulm"}}}});
                 }),
                 "lists 'Ulm' twice for the column 'city'"));
  CHECK(contains(csv_error("town\nUlm\n", options), "there is no column 'city'"));
  CHECK(contains(message_of<glia::value_error>([] {
                   (void)table_of("city\nUlm\n", {.class_names = {{"city", {}}}});
                 }),
                 "expected one or more class names for the column 'city', got none"));
}

TEST_CASE("columns that are not read may hold anything") {
  const std::string file = "id,width,species,note\nA7,1.5,tulip,x\nA8,2,rose,\n";
  const auto table = table_of(file, {.columns = {"species", "width"}, .text_columns = {"species"}});
  CHECK(table.names() == std::vector<std::string>{"width", "species"});
  CHECK(cells_of(table, "width") == std::vector<float>{1.5F, 2});
  CHECK(cells_of(table, "species") == std::vector<float>{1, 0});
  CHECK(table.with_labels("species").input_shape() == glia::shape{1});
  CHECK(csv_error(file, {.columns = {"height"}}) ==
        "table.csv: there is no column 'height'; the columns are: id, width, species, note");
  CHECK(csv_error("a,b\n1,x\n1\n", {.columns = {"a"}}) == "table.csv:3: expected 2 cells, got 1");
  CHECK(cells_of(table_of("7;x\n8;y\n", {.delimiter = ';', .header = false, .columns = {"0"}}),
                 "0") == std::vector<float>{7, 8});
}

TEST_CASE("a schema reads rows as the table that it comes from") {
  const glia::csv_options options{.delimiter = ';',
                                  .text_columns = {"city"},
                                  .date_columns = {"day"},
                                  .filling_value = std::numeric_limits<float>::quiet_NaN(),
                                  .missing_texts = {"NA", ""},
                                  .round_integers = true};
  const auto table =
      glia::parse_csv("price;city;day;area\n3;Ulm;2020-01-01;NA\n4;Bonn;2020-01-02;50\n", options);
  const glia::csv_schema schema = table.schema({"area", "city", "day"});
  CHECK(schema.inputs == std::vector<std::string>{"area", "city", "day"});
  const auto read = glia::csv_schema::from_metadata(schema.to_metadata());
  CHECK(read.to_metadata() == schema.to_metadata());
  CHECK(read.inputs == schema.inputs);
  CHECK(read.options.class_names == schema.options.class_names);
  CHECK(read.options.date_columns == std::vector<std::string>{"day"});
  CHECK(read.options.missing_texts == options.missing_texts);
  CHECK(read.options.delimiter == ';');
  CHECK(read.options.round_integers);
  CHECK_FALSE(read.options.allow_non_finite);
  CHECK(std::isnan(read.options.filling_value.value()));

  // Other columns, another order and an unknown city.
  const auto rows =
      glia::parse_csv("day;name;area;city\n2020-01-03;x;60;Kiel\nNA;;NA;Ulm\n", read.options);
  const xt::xarray<float> x = rows.columns(read.inputs);
  CHECK(x(0, 0) == 60);
  CHECK(x(0, 1) == 2);
  CHECK(x(0, 2) == 18264);
  CHECK(std::isnan(x(1, 0)));
  CHECK(x(1, 1) == 1);
  CHECK(std::isnan(x(1, 2)));
  CHECK(message_of<glia::data_error>([&] {
          (void)glia::parse_csv("day;area\n2020-01-03;60\n", read.options, "rows.csv");
        }) == "rows.csv: there is no column 'city'; the columns are: day, area");

  CHECK(contains(message_of<glia::data_error>([] { (void)glia::csv_schema::from_metadata({}); }),
                 "the metadata have no value of 'table.inputs'"));
  auto metadata = schema.to_metadata();
  metadata["table.filling"] = "seven";
  CHECK(contains(
      message_of<glia::data_error>([&] { (void)glia::csv_schema::from_metadata(metadata); }),
      "'table.filling' is 'seven'; expected a number"));
  metadata["table.delimiter"] = "";
  CHECK(contains(
      message_of<glia::data_error>([&] { (void)glia::csv_schema::from_metadata(metadata); }),
      "'table.delimiter' is ''; expected one character"));
  const glia::csv_schema hand_made{.inputs = {"a"}, .options = {.text_columns = {"a"}}};
  CHECK_THROWS_AS(hand_made.to_metadata(), glia::value_error);
  const glia::csv_schema two_lines{.inputs = {"a\nb"}};
  CHECK(contains(message_of<glia::value_error>([&] { (void)two_lines.to_metadata(); }),
                 "contains a line break"));
  CHECK(contains(message_of<glia::data_error>([&] { (void)table.schema({"rooms"}); }),
                 "there is no column 'rooms'"));
}

TEST_CASE("a model trains on a table") {
  std::string content = "x,y,quadrant\n";
  const char* const names[] = {"south-west", "south-east", "north-west", "north-east"};
  for (std::size_t i = 0; i < 200; ++i) {
    float point[2];
    test::quadrants::input(i, point);
    content += glia::text(point[0], ',', point[1], ',', names[test::quadrants::label(i)], '\n');
  }
  const glia::labeled_arrays data =
      table_of(content, {.text_columns = {"quadrant"}}).with_labels("quadrant");
  glia::model net{glia::sequential{glia::dense{16, glia::tanh}, glia::dense{4}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}};
  trainer.fit(data, {.epochs = 30, .batch_size = 20, .progress = nullptr});
  CHECK(glia::evaluate(net, data, glia::softmax_cross_entropy{})["accuracy"] > 0.9);
}

TEST_CASE("a class that no training row has keeps its initial parameters") {
  const auto table = table_of("city,x\nUlm,1\nBonn,2\nUlm,3\nKiel,4\n", {.text_columns = {"city"}});
  const auto data = table.with_targets({"x"}, {.inputs = {"city"}});
  const auto parts = glia::train_test_split(data, {.test_size = 0.25, .shuffle = false});
  CHECK(parts.test.size() == 1);
  const std::size_t cities = table.class_names("city").size();
  CHECK(cities == 3);  // Bonn, Kiel and Ulm, also of rows to test
  // Aachen is in a second file only.
  const glia::csv_schema schema = table.schema({"city"});
  const xt::xarray<float> x =
      glia::parse_csv("city\nUlm\nKiel\nAachen\n", schema.options).columns(schema.inputs);
  CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{2, 1, 3});

  const auto train_on = [&](auto& net) {
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.1}};
    trainer.fit(parts.train, {.epochs = 5, .batch_size = 3, .progress = nullptr});
  };
  const glia::one_hot encoding{.num_classes = cities, .ignore_unknown = true};
  glia::model one_hot{glia::sequential{encoding, glia::dense{1}}, {1}};
  const auto kernel = one_hot.get("dense_0.kernel");
  train_on(one_hot);
  const auto trained = one_hot.get("dense_0.kernel");
  CHECK(trained(0, 0) != kernel(0, 0));
  CHECK(trained(1, 0) == kernel(1, 0));
  CHECK(trained(2, 0) != kernel(2, 0));
  const float bias = one_hot.get("dense_0.bias")(0);
  CHECK(one_hot.predict(x)(1, 0) == Approx(kernel(1, 0) + bias));
  CHECK(one_hot.predict(x)(2, 0) == Approx(bias));

  // With a vector for unknown texts.
  glia::model vectors{glia::sequential{glia::embedding{cities + 1, 1}, glia::flatten{}}, {1}};
  const auto embeddings = vectors.get("embedding_0.embeddings");
  train_on(vectors);
  const auto y = vectors.predict(x);
  CHECK(y(0, 0) != embeddings(2, 0));
  CHECK(y(1, 0) == embeddings(1, 0));
  CHECK(y(2, 0) == embeddings(3, 0));
  const glia::model narrow{glia::sequential{glia::embedding{cities, 1}, glia::flatten{}}, {1}};
  CHECK_THROWS_AS((void)narrow.predict(x), glia::data_error);
}

TEST_CASE("damaged tables give an error or a table") {
  std::string whole = "width,\"len\"\"gth\",species\r\n";
  for (int i = 0; i < 40; ++i) {
    whole += glia::text(i, ',', -0.5 * i, ",\"a, ", i % 3, "\"\r\n1e-", i, ",12345678.5,b\n");
  }
  const test::temporary_folder folder;
  const auto path = folder.path() / "table.csv";
  std::uint32_t number = 0;
  const std::size_t tables =
      test::damaged_copies_read({{whole.begin(), whole.end()}}, [&](const auto& copy) {
        glia::random_stream random({.seed = 7, .step = number++});
        folder.write("table.csv", copy);
        const glia::csv_options options{
            .header = random.integer(4) > 0,
            .text_columns = {random.integer(8) == 0 ? "2" : "species"},
            .filling_value = random.integer(2) == 0 ? std::optional(0.0F) : std::nullopt};
        try {
          const glia::csv_table table = glia::read_csv(path, options);
          for (const std::string& name : table.names()) {
            CHECK(table.column(name).size() == table.rows());
          }
        } catch (const glia::data_error& e) {
          CHECK(contains(e.what(), path.string()));
          throw;
        }
      });
  CHECK(tables > 100);
  CHECK(tables < 900);
}
