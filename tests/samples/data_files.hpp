#pragma once

#include <cstdint>
#include <glia/core/error.hpp>
#include <string>
#include <vector>

#include "idx_file.hpp"
#include "io/array_files.hpp"

// Small whole files of the kinds that glia reads, for what is done with damaged copies of them.
namespace test::samples {

using file_bytes = std::vector<std::uint8_t>;

[[nodiscard]] inline std::vector<file_bytes> idx() {
  return {idx_file({5}, {1, 2, 3, 4, 5}), idx_file({2, 3, 2}, file_bytes(12, 7)),
          idx_file({2, 1, 2, 1}, {9, 8, 7, 6}), idx_file({3, 0}, {})};
}

[[nodiscard]] inline file_bytes gzip(const file_bytes& content) {
  const std::string packed = deflated({content.begin(), content.end()}, 31);
  return {packed.begin(), packed.end()};
}

[[nodiscard]] inline std::vector<file_bytes> gzip() {
  std::vector<file_bytes> files;
  for (const file_bytes& file : idx()) {
    files.push_back(gzip(file));
  }
  files.push_back(gzip(idx_file({4, 300}, file_bytes(1200, 3))));
  files.push_back(idx()[0]);
  // Two parts, one behind the other, are one content.
  file_bytes parts = gzip(file_bytes{0, 0, 8, 1, 0, 0, 0, 2});
  const file_bytes rest = gzip(file_bytes{5, 6});
  parts.insert(parts.end(), rest.begin(), rest.end());
  files.push_back(parts);
  return files;
}

/// Tables with a column "species" of text.
[[nodiscard]] inline std::vector<file_bytes> csv() {
  std::string mixed = "width,\"len\"\"gth\",species\r\n";
  for (int i = 0; i < 40; ++i) {
    mixed += glia::text(i, ',', -0.5 * i, ",\"a, ", i % 3, "\"\r\n1e-", i, ",12345678.5,b\n");
  }
  std::vector<file_bytes> files;
  for (const std::string& table :
       {std::string("width,length,species\n1.5,2,tulip\n-3,0.25,rose\n4e1,1,tulip\n"),
        std::string("\xEF\xBB\xBFspecies,x\r\n\"two\nlines\", +7 \r\na,\r\n\r\n"),
        std::string("species,x\n\"say \"\"hi\"\"\",nan\nb,-inf\nb,0.000000001\n,1e-40"), mixed}) {
    files.emplace_back(table.begin(), table.end());
  }
  return files;
}

}  // namespace test::samples
