#include <cstring>
#include <glia/arrow.hpp>
#include <glia/data/csv.hpp>
#include <initializer_list>
#include <limits>
#include <memory>

#include "catch.hpp"
#include "helpers.hpp"
#include "run_python.hpp"

using test::contains;
using test::message_of;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::string elements(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// A column of an Arrow table. A buffer of the text "null" is missing.
struct arrow_test_column {
  std::string name;
  std::string format;
  std::int64_t length;
  std::vector<std::string> buffers = {};
  std::int64_t offset = 0;
  std::shared_ptr<arrow_test_column> dictionary = {};
};

arrow_test_column numbers_column(std::string name) {
  return {std::move(name), "f", 3, {"null", elements<float>({1, 2.5F, -3})}};
}

/// An Arrow table that counts the calls of its release callbacks.
class arrow_batch {
 public:
  explicit arrow_batch(std::vector<arrow_test_column> columns, std::int64_t rows = 3,
                       std::int64_t first = 0)
      : columns_(std::move(columns)) {
    for (const arrow_test_column& column : columns_) {
      add(column, true);
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      schema_children_.push_back(&schemas_[i]->content);
      array_children_.push_back(&arrays_[i]->content);
    }
    schema.format = "+s";
    schema.n_children = array.n_children = static_cast<std::int64_t>(columns_.size());
    schema.children = schema_children_.data();
    array.children = array_children_.data();
    array.length = rows;
    array.offset = first;
    array.n_buffers = 1;
    array.buffers = &no_buffer_;
    schema.private_data = array.private_data = this;
    schema.release = [](ArrowSchema* released) {
      ++static_cast<arrow_batch*>(released->private_data)->schema_releases;
      released->release = nullptr;
    };
    array.release = [](ArrowArray* released) {
      ++static_cast<arrow_batch*>(released->private_data)->array_releases;
      released->release = nullptr;
    };
  }
  arrow_batch(const arrow_batch&) = delete;
  arrow_batch& operator=(const arrow_batch&) = delete;

  glia::csv_table read(const glia::csv_options& options = {}) {
    return glia::read_arrow(&schema, &array, options);
  }

  ArrowSchema schema{};
  ArrowArray array{};
  int schema_releases = 0;
  int array_releases = 0;

 private:
  struct schema_part {
    ArrowSchema content{};
  };
  struct array_part {
    ArrowArray content{};
    std::vector<const void*> buffers;
  };

  void add(const arrow_test_column& column, bool is_child) {
    auto field = std::make_unique<schema_part>();
    auto values = std::make_unique<array_part>();
    field->content.format = column.format.c_str();
    field->content.name = column.name.c_str();
    for (const std::string& buffer : column.buffers) {
      values->buffers.push_back(buffer == "null" ? nullptr : buffer.data());
    }
    values->content.length = column.length;
    values->content.null_count = -1;
    values->content.offset = column.offset;
    values->content.n_buffers = static_cast<std::int64_t>(values->buffers.size());
    values->content.buffers = values->buffers.data();
    // Consumers call the callbacks of the parents only.
    field->content.release = [](ArrowSchema*) { FAIL("a child was released"); };
    values->content.release = [](ArrowArray*) { FAIL("a child was released"); };
    if (column.dictionary) {
      add(*column.dictionary, false);
      field->content.dictionary = &dictionaries_.back().first->content;
      values->content.dictionary = &dictionaries_.back().second->content;
    }
    if (is_child) {
      schemas_.push_back(std::move(field));
      arrays_.push_back(std::move(values));
    } else {
      dictionaries_.emplace_back(std::move(field), std::move(values));
    }
  }

  std::vector<arrow_test_column> columns_;
  std::vector<std::unique_ptr<schema_part>> schemas_;
  std::vector<std::unique_ptr<array_part>> arrays_;
  std::vector<std::pair<std::unique_ptr<schema_part>, std::unique_ptr<array_part>>> dictionaries_;
  std::vector<ArrowSchema*> schema_children_;
  std::vector<ArrowArray*> array_children_;
  const void* no_buffer_ = nullptr;
};

std::vector<float> values_in(const glia::csv_table& table, const std::string& name) {
  const xt::xarray<float> values = table.column(name);
  return {values.begin(), values.end()};
}

/// The values of the only column, x, of a table with three rows.
std::vector<float> arrow_values_of(const std::string& format, std::vector<std::string> buffers,
                                   const glia::csv_options& options = {}) {
  arrow_batch batch({{"x", format, 3, std::move(buffers)}});
  return values_in(batch.read(options), "x");
}

/// Returns the error message for a table of three rows, or "". Both structs are released once.
std::string arrow_error(std::vector<arrow_test_column> columns,
                        const glia::csv_options& options = {}) {
  arrow_batch batch(std::move(columns));
  std::string message = message_of<glia::data_error>([&] { (void)batch.read(options); });
  CHECK(batch.schema_releases == 1);
  CHECK(batch.array_releases == 1);
  CHECK(batch.schema.release == nullptr);
  CHECK(batch.array.release == nullptr);
  return message;
}

std::string column_error(const std::string& format, std::vector<std::string> buffers,
                         const glia::csv_options& options = {}) {
  return arrow_error({{"x", format, 3, std::move(buffers)}}, options);
}

const arrow_test_column cities{
    "city", "u", 3, {"null", elements<std::int32_t>({0, 3, 7, 10}), "UlmBonnUlm"}};

const glia::csv_options text_x{.text_columns = {"x"}};
const glia::csv_options date_x{.date_columns = {"x"}};

}  // namespace

TEST_CASE("an Arrow table becomes a table, and is released") {
  arrow_batch batch({numbers_column("width"), cities});
  const glia::csv_table table = batch.read({.text_columns = {"city"}});
  CHECK(batch.schema_releases == 1);
  CHECK(batch.array_releases == 1);
  CHECK(table.names() == std::vector<std::string>{"width", "city"});
  CHECK(table.rows() == 3);
  CHECK(values_in(table, "width") == std::vector<float>{1, 2.5F, -3});
  CHECK(values_in(table, "city") == std::vector<float>{1, 0, 1});
  CHECK(table.class_names("city") == std::vector<std::string>{"Bonn", "Ulm"});
  CHECK(table.with_labels("city").label(1) == 0);
}

TEST_CASE("numbers of all Arrow types become floats") {
  const std::vector<float> expected{1, 0, 100};
  CHECK(arrow_values_of("c", {"null", elements<std::int8_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("C", {"null", elements<std::uint8_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("s", {"null", elements<std::int16_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("S", {"null", elements<std::uint16_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("i", {"null", elements<std::int32_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("I", {"null", elements<std::uint32_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("l", {"null", elements<std::int64_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("L", {"null", elements<std::uint64_t>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("e", {"null", elements<std::uint16_t>({0x3C00, 0, 0x5640})}) == expected);
  CHECK(arrow_values_of("f", {"null", elements<float>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("g", {"null", elements<double>({1, 0, 100})}) == expected);
  CHECK(arrow_values_of("c", {"null", elements<std::int8_t>({-128, 127, -1})}) ==
        std::vector<float>{-128, 127, -1});
  CHECK(arrow_values_of("g", {"null", elements<double>({0.1, -1e30, 1e-60})}) ==
        std::vector<float>{0.1F, -1e30F, 0});
  CHECK(arrow_values_of("b", {"null", "\x05"}) == std::vector<float>{1, 0, 1});
}

TEST_CASE("rows of a slice of an Arrow table come from its offsets") {
  // The table begins at row 1, and the columns at other rows of their buffers.
  arrow_batch batch(
      {{"a", "i", 3, {"null", elements<std::int32_t>({9, 9, 9, 1, 2})}, 2},
       {"b", "b", 3, {"null", elements<std::uint8_t>({0, 0x02})}, 7},
       {"c", "u", 4, {"null", elements<std::int32_t>({0, 1, 2, 4, 4}), "xyzz"}, 0},
       {"d", "f", 3, {elements<std::uint8_t>({0x08}), elements<float>({9, 9, 9, 7, 8})}, 2}},
      2, 1);
  const glia::csv_table table = batch.read({.text_columns = {"c"}, .filling_value = -1.0F});
  CHECK(values_in(table, "a") == std::vector<float>{1, 2});
  CHECK(values_in(table, "b") == std::vector<float>{0, 1});
  CHECK(table.class_names("c") == std::vector<std::string>{"y", "zz"});
  CHECK(values_in(table, "d") == std::vector<float>{7, -1});
}

TEST_CASE("nulls of Arrow are missing values") {
  const std::string second_is_null = elements<std::uint8_t>({0x05});
  const std::vector<std::string> buffers{second_is_null, elements<std::int16_t>({1, 2, 3})};
  CHECK(column_error("s", buffers) ==
        "the Arrow table: column 'x', row 2: expected a number, got a missing value; set "
        "csv_options::filling_value to accept missing values");
  CHECK(arrow_values_of("s", buffers, {.filling_value = -1.0F}) == std::vector<float>{1, -1, 3});
  CHECK(std::isnan(arrow_values_of("s", buffers, {.filling_value = no_number}).at(1)));
  CHECK(contains(column_error("n", {}), "row 1: expected a number, got a missing value"));
  CHECK(arrow_values_of("n", {}, {.filling_value = 2.0F}) == std::vector<float>{2, 2, 2});

  // Texts that are null or empty.
  const std::vector<std::string> texts{second_is_null, elements<std::int32_t>({0, 1, 2, 2}), "ab"};
  CHECK(column_error("u", texts, text_x) ==
        "the Arrow table: column 'x', row 2: expected text, got a missing value; set "
        "csv_options::filling_value to accept missing values");
  arrow_batch batch({{"x", "u", 3, texts}});
  const auto table = batch.read({.text_columns = {"x"}, .filling_value = 0.0F});
  CHECK(table.class_names("x") == std::vector<std::string>{"", "a"});
  CHECK(values_in(table, "x") == std::vector<float>{1, 0, 0});

  // A bitmap without nulls.
  arrow_batch counted({{"x", "s", 3, buffers}});
  counted.schema.children[0]->flags = 0;
  counted.array.children[0]->null_count = 0;
  CHECK(values_in(counted.read(), "x") == std::vector<float>{1, 2, 3});
}

TEST_CASE("a number that stands for missing values is compared as the column's type") {
  const std::vector<std::string> buffers{"null", elements<float>({1, -999.9F, 2})};
  const std::vector<float> values =
      arrow_values_of("f", buffers, {.filling_value = 7.F, .missing_texts = {"-999.9"}});
  CHECK(values == std::vector<float>{1, 7, 2});
  CHECK(contains(column_error("f", buffers, {.missing_texts = {"-999.9"}}),
                 "row 2: expected a number, got -999.9"));
}

TEST_CASE("texts that mean missing count in Arrow tables, too") {
  const glia::csv_options options{
      .text_columns = {"city"}, .filling_value = no_number, .missing_texts = {"-9", "Bonn", "nan"}};
  arrow_batch batch({{"x", "l", 3, {"null", elements<std::int64_t>({-9, 9, 0})}},
                     {"y", "g", 3, {"null", elements<double>({-9, 0.5, NAN})}},
                     cities});
  const auto table = batch.read(options);
  CHECK(std::isnan(values_in(table, "x").at(0)));
  CHECK(values_in(table, "x").at(1) == 9);
  CHECK(std::isnan(values_in(table, "y").at(0)));
  CHECK(values_in(table, "y").at(1) == 0.5F);
  CHECK(std::isnan(values_in(table, "y").at(2)));
  CHECK(table.class_names("city") == std::vector<std::string>{"", "Ulm"});
  CHECK(contains(arrow_error({cities}, {.text_columns = {"city"}, .missing_texts = {"Bonn"}}),
                 "row 2: expected text, got 'Bonn'; set csv_options::filling_value"));
}

TEST_CASE("texts of all Arrow types become classes") {
  const auto classes = [](const std::string& format, std::vector<std::string> buffers) {
    arrow_batch batch({{"x", format, 3, std::move(buffers)}});
    const auto table = batch.read(text_x);
    CHECK(values_in(table, "x") == std::vector<float>{1, 0, 1});
    return table.class_names("x");
  };
  using names = std::vector<std::string>;
  CHECK(classes("u", {"null", elements<std::int32_t>({0, 1, 2, 3}), "bab"}) == names{"a", "b"});
  CHECK(classes("U", {"null", elements<std::int64_t>({0, 1, 2, 3}), "bab"}) == names{"a", "b"});
  const std::string beyond = "buffer: fourteen bytes";
  const std::string view = elements<std::int32_t>({14, 0, 0, 8});
  const std::string short_view = elements<std::int32_t>({1, 'a', 0, 0});
  const std::string sizes = elements<std::int64_t>({22});
  CHECK(classes("vu", {"null", view + short_view + view, beyond, sizes}) ==
        names{"a", "fourteen bytes"});
  CHECK(classes("i", {"null", elements<std::int32_t>({7, 11, 7})}) == names{"11", "7"});
  CHECK(classes("L", {"null", elements<std::uint64_t>({~0ULL, 16777217, ~0ULL})}) ==
        names{"16777217", "18446744073709551615"});

  CHECK(contains(column_error("u", {"null", elements<std::int32_t>({0, 2, 1, 3}), "bab"}, text_x),
                 "the offsets of the texts are wrong"));
  CHECK(contains(column_error("u", {"null", elements<std::int32_t>({0, 1, 2, 3}), "null"}, text_x),
                 "the offsets of the texts are wrong"));
  for (const auto& wrong :
       {elements<std::int32_t>({14, 0, 1, 8}), elements<std::int32_t>({14, 0, -1, 8}),
        elements<std::int32_t>({14, 0, 0, -1})}) {
    CHECK(contains(column_error("vu", {"null", wrong + view + view, beyond, sizes}, text_x),
                   "the position of a text is wrong"));
  }
  CHECK(contains(
      column_error("vu",
                   {"null", elements<std::int32_t>({14, 0, 0, 9}) + view + view, beyond, sizes},
                   text_x),
      "a text ends beyond its buffer"));
  CHECK(contains(
      column_error("vu",
                   {"null", elements<std::int32_t>({-1, 0, 0, 9}) + view + view, beyond, sizes},
                   text_x),
      "the length of a text is negative"));
}

TEST_CASE("values of Arrow may be in a dictionary") {
  const auto dictionary = std::make_shared<arrow_test_column>(arrow_test_column{
      "",
      "u",
      3,
      {elements<std::uint8_t>({0x0B}), elements<std::int32_t>({0, 4, 7, 7, 11}), "BonnUlmKiel"},
      1});
  const auto column = [&](const std::string& format, std::string indices) {
    return arrow_test_column{"x", format, 3, {"null", std::move(indices)}, 0, dictionary};
  };
  // The entries are Ulm, null and Kiel.
  for (const auto& [format, indices] : {std::pair("c", elements<std::int8_t>({2, 0, 0})),
                                        std::pair("S", elements<std::uint16_t>({2, 0, 0})),
                                        std::pair("l", elements<std::int64_t>({2, 0, 0}))}) {
    arrow_batch batch({column(format, indices)});
    const auto table = batch.read(text_x);
    CHECK(table.class_names("x") == std::vector<std::string>{"Kiel", "Ulm"});
    CHECK(values_in(table, "x") == std::vector<float>{0, 1, 1});
  }
  CHECK(contains(arrow_error({column("c", elements<std::int8_t>({0, 1, 0}))}, text_x),
                 "column 'x', row 2: expected text, got a missing value"));
  for (const std::int8_t index : {std::int8_t{-1}, std::int8_t{3}}) {
    CHECK(arrow_error({column("c", elements<std::int8_t>({0, index, 0}))}, text_x) ==
          "the Arrow table: column 'x', row 2: the index is outside of the dictionary");
  }
  CHECK(contains(arrow_error({column("f", elements<float>({0, 1, 0}))}, text_x),
                 "expected integers as indices of the dictionary, got the format 'f'"));

  const auto numbers = std::make_shared<arrow_test_column>(
      arrow_test_column{"", "g", 2, {"null", elements<double>({0.5, 7})}});
  arrow_batch batch({{"x", "c", 3, {"null", elements<std::int8_t>({1, 0, 1})}, 0, numbers}});
  CHECK(values_in(batch.read(), "x") == std::vector<float>{7, 0.5F, 7});
}

TEST_CASE("dates of Arrow are days since 1970") {
  const auto days = [](const std::string& format, const std::string& values) {
    return arrow_values_of(format, {"null", values}, date_x);
  };
  const std::vector<float> expected{0, -1, 1.25F};
  CHECK(days("tdD", elements<std::int32_t>({0, -1, 20785})) == std::vector<float>{0, -1, 20785});
  CHECK(days("tdm", elements<std::int64_t>({0, -86400000, 108000000})) == expected);
  CHECK(days("tss:", elements<std::int64_t>({0, -86400, 108000})) == expected);
  CHECK(days("tsm:UTC", elements<std::int64_t>({0, -86400000, 108000000})) == expected);
  CHECK(days("tsu:", elements<std::int64_t>({0, -86400000000, 108000000000})) == expected);
  CHECK(days("tsn:Europe/Berlin", elements<std::int64_t>({0, -86400000000000, 108000000000000})) ==
        expected);
  const std::string offsets = elements<std::int32_t>({0, 10, 20, 36});
  CHECK(arrow_values_of("u", {"null", offsets, "1970-01-011969-12-311970-01-02 06:00"}, date_x) ==
        expected);
  CHECK(column_error("u", {"null", offsets, "1970-01-011969-13-311970-01-02 06:00"}, date_x) ==
        "the Arrow table: column 'x', row 2: expected a date, got '1969-13-31'; write dates as "
        "2026-11-28, 2026-11-28 16:45 or 2026-11-28T16:45:30Z");
  CHECK(arrow_values_of("tdD", {elements<std::uint8_t>({0x06}), elements<std::int32_t>({0, 1, 2})},
                        {.date_columns = {"x"}, .filling_value = 7.0F}) ==
        std::vector<float>{7, 1, 2});
}

TEST_CASE("numbers of Arrow that a float cannot hold are refused or rounded") {
  const glia::csv_options rounded{.round_integers = true};
  const std::vector<std::string> integers{"null", elements<std::int64_t>({1, 16777217, 3})};
  CHECK(column_error("l", integers) ==
        "the Arrow table: column 'x', row 2: expected a number, got 16777217; a float cannot hold "
        "this integer exactly; set csv_options::round_integers to round it, or list the column in "
        "csv_options::text_columns if it holds identifiers");
  CHECK(arrow_values_of("l", integers, rounded) == std::vector<float>{1, 16777216, 3});
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  CHECK(contains(column_error("l", {"null", elements<std::int64_t>({1, 2, largest})}),
                 "row 3: expected a number, got 9223372036854775807; a float cannot hold"));
  CHECK(contains(column_error("L", {"null", elements<std::uint64_t>({1, 2, ~0ULL})}),
                 "got 18446744073709551615; a float cannot hold"));
  CHECK(contains(column_error("i", {"null", elements<std::int32_t>({-16777217, 2, 3})}),
                 "row 1: expected a number, got -16777217; a float cannot hold"));
  // Integers in a column of doubles, which has them if a value is missing.
  CHECK(contains(column_error("g", {"null", elements<double>({0, 123456789, 3})}),
                 "row 2: expected a number, got 123456789; a float cannot hold"));
  CHECK(arrow_values_of("g", {"null", elements<double>({0x1p60 + 0x1p10, 16777217.5, 16777218})}) ==
        std::vector<float>{0x1p60F, 16777218, 16777218});
  CHECK(contains(column_error("g", {"null", elements<double>({0, 0, -1e39})}),
                 "row 3: expected a number, got -1e+39; the largest number that a float can hold"));
  CHECK(contains(column_error("f", {"null", elements<float>({0, no_number, 0})}),
                 "row 2: expected a number, got nan; set csv_options::allow_non_finite"));
  CHECK(arrow_values_of("e", {"null", elements<std::uint16_t>({0x7C00, 0, 0xFC00})},
                        {.allow_non_finite = true}) == std::vector<float>{INFINITY, 0, -INFINITY});
}

TEST_CASE("columns of Arrow hold what the options say") {
  const std::vector<std::string> dates{"null", elements<std::int32_t>({0, 1, 2})};
  CHECK(arrow_error({cities}) ==
        "the Arrow table: column 'city': expected numbers, got text (format 'u'); list the column "
        "in csv_options::text_columns, class_names or date_columns");
  CHECK(column_error("tdD", dates) ==
        "the Arrow table: column 'x': expected numbers, got dates (format 'tdD'); list the column "
        "in csv_options::date_columns");
  CHECK(column_error("tdD", dates, text_x) ==
        "the Arrow table: column 'x': expected text or integers, got dates (format 'tdD'); "
        "convert the column");
  CHECK(column_error("f", dates, text_x) ==
        "the Arrow table: column 'x': expected text or integers, got numbers (format 'f'); "
        "convert the column");
  CHECK(column_error("i", dates, date_x) ==
        "the Arrow table: column 'x': expected dates, got numbers (format 'i'); convert the "
        "column");
  for (const char* format : {"+l", "+s", "z", "d:10,2", "tDs", "ttm", "w:4", "tsx:", "", "ff"}) {
    CHECK(column_error(format, dates) ==
          "the Arrow table: column 'x': the format '" + std::string(format) +
              "' is not supported; expected booleans, numbers, text, dates or timestamps; convert "
              "the column, or list only others in csv_options::columns");
  }
  arrow_batch batch({{"tags", "+l", 3, {}}, cities, numbers_column("a"), numbers_column("b")});
  const auto table = batch.read({.columns = {"b", "city"}, .class_names = {{"city", {"Ulm"}}}});
  CHECK(table.names() == std::vector<std::string>{"city", "b"});
  CHECK(values_in(table, "city") == std::vector<float>{0, 1, 0});
}

TEST_CASE("wrong Arrow tables are refused, and released once") {
  CHECK(arrow_error({numbers_column("a")}, {.columns = {"b"}}) ==
        "the Arrow table: there is no column 'b'; the columns are: a");
  CHECK(arrow_error({numbers_column("a"), numbers_column("a")}) ==
        "the Arrow table: two columns have the name 'a'");
  CHECK(contains(arrow_error({}), "expected one or more columns"));
  CHECK(column_error("f", {"null"}) ==
        "the Arrow table: column 'x': expected 2 buffers for the format 'f', got 1");
  CHECK(contains(column_error("u", {"null", ""}, text_x), "expected 3 buffers"));
  CHECK(contains(column_error("f", {"null", "null"}), "the buffer of the values is missing"));
  CHECK(arrow_error({{"x", "f", 2, {"null", elements<float>({1, 2})}}}) ==
        "the Arrow table: column 'x': expected 3 values, got 2");

  const auto changed = [](const auto& change) {
    arrow_batch batch({numbers_column("a")});
    change(batch);
    std::string message = message_of<glia::data_error>([&] { (void)batch.read(); });
    CHECK(batch.schema_releases == 1);
    CHECK(batch.array_releases == 1);
    return message;
  };
  CHECK(changed([](arrow_batch& batch) { batch.schema.format = "f"; }) ==
        "the Arrow table: expected a struct array, format '+s', got 'f'");
  CHECK(changed([](arrow_batch& batch) { batch.array.length = 0; }) ==
        "the Arrow table: expected one or more rows, got 0");
  CHECK(changed([](arrow_batch& batch) { batch.schema.format = nullptr; }) ==
        "the Arrow table: expected a struct array, format '+s', got ''");
  CHECK(changed([](arrow_batch& batch) { batch.array.length = std::int64_t{1} << 61; }) ==
        "the Arrow table: column 'a': expected 2305843009213693952 values, got 3");
  CHECK(contains(changed([](arrow_batch& batch) { batch.schema.children[0]->format = nullptr; }),
                 "column 'a': the schema has no format"));
  CHECK(changed([](arrow_batch& batch) { batch.array.n_children = 2; }) ==
        "the Arrow table: expected one or more columns, as many in the schema as in the array, got "
        "1 and 2");
  CHECK(contains(changed([](arrow_batch& batch) { batch.array.offset = 1; }),
                 "expected 4 values, got 3"));
  CHECK(contains(changed([](arrow_batch& batch) { batch.array.children[0]->buffers = nullptr; }),
                 "the buffers are missing"));
  CHECK(contains(changed([](arrow_batch& batch) { batch.array.children[0]->offset = -1; }),
                 "expected an offset of 0 or more, got -1"));

  arrow_batch batch({numbers_column("a")});
  CHECK(contains(
      message_of<glia::value_error>([&] { (void)glia::read_arrow(&batch.schema, nullptr); }),
      "read_arrow: expected an ArrowSchema and an ArrowArray, got a null pointer"));
  CHECK(batch.schema_releases == 1);
  CHECK(contains(message_of<glia::value_error>([&] { (void)batch.read(); }),
                 "got one that has been released"));
  CHECK(batch.array_releases == 1);
}

TEST_CASE("the schema of a table reads Arrow tables") {
  const auto trained = glia::parse_csv("city,day,x\nUlm,2020-01-01,1\nKiel,2020-01-02,2\n",
                                       {.text_columns = {"city"}, .date_columns = {"day"}});
  const glia::csv_schema schema = trained.schema({"x", "day", "city"});
  arrow_batch batch({{"day", "tdD", 3, {"null", elements<std::int32_t>({1, 2, 3})}},
                     cities,
                     numbers_column("x")});
  CHECK((batch.read(schema.options).columns(schema.inputs) ==
         xt::xarray<float>{{1, 1, 1}, {2.5F, 2, 2}, {-3, 3, 1}}));
  // Numbers as text are no classes.
  CHECK(contains(arrow_error({{"day", "tdD", 3, {"null", elements<std::int32_t>({1, 2, 3})}},
                              cities,
                              {"x", "u", 3, cities.buffers}},
                             schema.options),
                 "column 'x': expected numbers, got text"));
}

TEST_CASE("write_arrow writes a table that read_arrow reads") {
  const xt::xarray<float> values{{0.5F, 1}, {-2, 0}, {1e30F, 2}, {3, no_number}};
  ArrowSchema schema;
  ArrowArray array;
  glia::write_arrow(values, {"price", "city"}, &schema, &array,
                    {.class_names = {{"city", {"Ulm", "Bonn"}}}});
  CHECK(std::string_view(schema.format) == "+s");
  CHECK(array.length == 4);
  CHECK(array.n_children == 2);
  CHECK(std::string_view(schema.children[0]->format) == "f");
  CHECK(std::string_view(schema.children[0]->name) == "price");
  CHECK(std::string_view(schema.children[1]->format) == "i");
  CHECK(std::string_view(schema.children[1]->dictionary->format) == "u");
  CHECK(array.children[0]->null_count == 0);
  CHECK(array.children[1]->null_count == 2);
  const glia::csv_table table =
      glia::read_arrow(&schema, &array, {.text_columns = {"city"}, .filling_value = no_number});
  CHECK(schema.release == nullptr);
  CHECK(array.release == nullptr);
  CHECK(values_in(table, "price") == std::vector<float>{0.5F, -2, 1e30F, 3});
  CHECK(table.class_names("city") == std::vector<std::string>{"", "Bonn", "Ulm"});
  CHECK(values_in(table, "city") == std::vector<float>{1, 2, 0, 0});
}

TEST_CASE("children of a written Arrow table can be moved") {
  ArrowSchema schema;
  ArrowArray array;
  glia::write_arrow(xt::xarray<float>{{1, 0}, {2, 1}}, {"a", "b"}, &schema, &array,
                    {.class_names = {{"b", {"no", "yes"}}}});
  ArrowArray moved = *array.children[1];
  array.children[1]->release = nullptr;
  ArrowSchema moved_schema = *schema.children[0];
  schema.children[0]->release = nullptr;
  array.release(&array);
  schema.release(&schema);
  CHECK(array.release == nullptr);
  CHECK(static_cast<const std::int32_t*>(moved.buffers[1])[1] == 1);
  CHECK(std::memcmp(moved.dictionary->buffers[2], "noyes", 5) == 0);
  CHECK(std::string_view(moved_schema.name) == "a");
  moved.release(&moved);
  moved_schema.release(&moved_schema);
  CHECK(moved.release == nullptr);
}

TEST_CASE("write_arrow refuses wrong arguments and writes nothing") {
  ArrowSchema schema{};
  ArrowArray array{};
  const auto write = [&](const xt::xarray<float>& values,
                         const glia::write_arrow_options& options = {}) {
    glia::write_arrow(values, {"a", "b"}, &schema, &array, options);
  };
  CHECK(message_of<glia::shape_error>([&] {
          write(xt::ones<float>({4, 3}));
        }) == "write_arrow: expected an array (N, 2) for 2 names, got (4, 3)");
  CHECK_THROWS_AS(write(xt::ones<float>({2})), glia::shape_error);
  CHECK(message_of<glia::value_error>([&] {
          write(xt::ones<float>({4, 2}), {.class_names = {{"c", {"x"}}}});
        }) == "write_arrow: options.class_names has the column 'c'; the columns are: a, b");
  for (const float index : {-1.0F, 0.5F, 3.0F, INFINITY}) {
    CHECK(contains(message_of<glia::data_error>([&] {
                     write({{0, 0}, {0, index}}, {.class_names = {{"b", {"x", "y"}}}});
                   }),
                   "write_arrow: column 'b', row 2: expected a class index, a whole number from 0 "
                   "to 2, got "));
  }
  CHECK(message_of<glia::value_error>([&] {
          glia::write_arrow(xt::ones<float>({4, 2}), {"a", "a"}, &schema, &array);
        }) == "write_arrow: two columns have the name 'a'");
  CHECK(schema.release == nullptr);
  CHECK(array.release == nullptr);
  CHECK(contains(message_of<glia::value_error>([&] {
                   glia::write_arrow(xt::ones<float>({1, 1}), {"a"}, nullptr, &array);
                 }),
                 "got a null pointer"));
}

TEST_CASE("Python's pyarrow gives tables to glia, and reads what glia gives") {
  const auto python = test::python_with("pyarrow");
  if (!python) {
    GLIA_SKIP(test::no_python_with("pyarrow"));
  }
  const glia::plot::program_result result =
      test::run_python(*python, "arrow_tables.py", {GLIA_ARROW_LIBRARY});
  CHECK(result.errors.empty());
  CHECK(result.output == "32 tables\n");
}
