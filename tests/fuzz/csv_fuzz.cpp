#include <array>
#include <charconv>
#include <cmath>
#include <glia/data/csv.hpp>
#include <string>

#include "fuzz/fuzz.hpp"
#include "samples/data_files.hpp"

namespace {

constexpr std::array<char, 4> delimiters{',', ';', '\t', '|'};

/// How the first byte of an input says that the rest of it is read.
glia::csv_options options_of(std::uint8_t byte) {
  glia::csv_options options;
  options.delimiter = delimiters[byte % 4];
  options.header = (byte & 4U) == 0;
  if ((byte & 8U) == 0) {
    options.text_columns = {options.header ? "species" : "0"};
  }
  if ((byte & 16U) != 0) {
    options.filling_value = (byte & 32U) != 0 ? NAN : 0.5F;
  }
  options.allow_non_finite = (byte & 64U) != 0;
  return options;
}

void write_cell(std::string& output, std::string_view text) {
  output += '"';
  for (const char c : text) {
    output.append(c == '"' ? 2 : 1, c);
  }
  output += '"';
}

/// The table as a file, every text in quotes and every number exact.
std::string text_of(const glia::csv_table& table, const glia::csv_options& options) {
  const std::vector<std::string>* const classes =
      options.text_columns.empty() ? nullptr : &table.class_names(options.text_columns[0]);
  std::string result;
  const auto end_cell = [&](std::size_t i) {
    result += i + 1 == table.names().size() ? '\n' : options.delimiter;
  };
  for (std::size_t i = 0; options.header && i < table.names().size(); ++i) {
    write_cell(result, table.names()[i]);
    end_cell(i);
  }
  std::vector<xt::xarray<float>> columns;
  for (const std::string& name : table.names()) {
    columns.push_back(table.column(name));
    fuzz::require(columns.back().size() == table.rows(), "a column has not a value for each row");
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const float value = columns[i].data()[row];
      if (classes != nullptr && table.names()[i] == options.text_columns[0]) {
        write_cell(result, classes->at(static_cast<std::size_t>(value)));
      } else if (std::isnan(value)) {
        result += "nan";
      } else {
        std::array<char, 32> digits{};
        result.append(digits.data(),
                      std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
      }
      end_cell(i);
    }
  }
  return result;
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() {
  std::vector<bytes> result;
  std::uint8_t options = 0;
  for (bytes table : test::samples::csv()) {
    table.resize(std::min<std::size_t>(table.size(), 150));
    table.insert(table.begin(), options);
    result.push_back(table);
    options = 16 + 64;
  }
  for (const std::string_view table : {"\x0C"
                                       "1,2\n3,4\n",
                                       "\x05"
                                       "a;1\nb;2"}) {
    result.emplace_back(table.begin(), table.end());
  }
  return result;
}

void fuzz::check(byte_view input) {
  if (input.empty()) {
    return;
  }
  glia::csv_options options = options_of(input[0]);
  const auto read = [&](byte_view file) {
    return read_within({.for_each_byte = 100, .fixed = 64 << 10}, file,
                       [&](const auto& path) { return glia::read_csv(path, options); });
  };
  const glia::csv_table table = read(input.subspan(1));
  const std::string text = text_of(table, options);
  // An empty text or NaN may have been allowed for as a missing cell.
  options.allow_non_finite = true;
  without_error([&] {
    require(text_of(read({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}),
                    options) == text,
            "what was read is not what was written of it");
  });
}
