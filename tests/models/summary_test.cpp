#include "catch.hpp"
#include "helpers.hpp"

using glia::dense;
using glia::layer_node_kind;
using glia::sequential;

namespace {

/// The nodes of a description as "name < sources".
template <class Description>
std::vector<std::string> links_of(const Description& description, const glia::shape& sample) {
  const glia::model_plan plan = glia::plan_model(description, sample);
  std::vector<std::string> result;
  for (const glia::layer_node& node : plan.nodes) {
    std::string sources;
    for (const std::size_t source : node.sources) {
      sources += (sources.empty() ? " < " : ", ") + plan.nodes[source].name;
    }
    result.push_back(node.name + sources);
  }
  return result;
}
using links = std::vector<std::string>;

}  // namespace

TEST_CASE("each layer of a sequence reads the layer before it") {
  CHECK(links_of(sequential{glia::flatten{}, dense{2, glia::relu}, glia::identity{},
                            glia::dropout{0.5}, glia::named{"head", sequential{dense{1}}}},
                 {2, 2}) == links{"input", "flatten_0 < input", "dense_0 < flatten_0",
                                  "identity_0 < dense_0", "dropout_0 < identity_0",
                                  "head.dense_0 < dropout_0"});
  // The mask of the steps does not count as an input.
  CHECK(links_of(sequential{glia::embedding{.input_dim = 9, .output_dim = 2, .mask_zero = true},
                            glia::lstm{.units = 2, .return_sequences = true},
                            glia::lstm{.units = 3}, dense{1}},
                 {4}) == links{"input", "embedding_0 < input", "lstm_0 < embedding_0",
                               "lstm_1 < lstm_0", "dense_0 < lstm_1"});
  CHECK(links_of(sequential{glia::masking{9}, glia::gru{.units = 2}, dense{1}}, {5, 1}) ==
        links{"input", "masking_0 < input", "gru_0 < masking_0", "dense_0 < gru_0"});
  CHECK(links_of(glia::time_distributed{sequential{dense{2}, glia::relu}}, {4, 3}).back() ==
        "activation_0 < dense_0");
}

TEST_CASE("branches read the same layer, and end in a join") {
  const glia::residual block{sequential{dense{2, glia::relu}, dense{2}}, glia::identity{},
                             glia::relu};
  CHECK(links_of(sequential{block, block}, {2}) ==
        links{"input", "dense_0 < input", "dense_1 < dense_0", "identity_0 < input",
              "residual_0 < dense_1, identity_0", "dense_2 < residual_0", "dense_3 < dense_2",
              "identity_1 < residual_0", "residual_1 < dense_3, identity_1"});
  CHECK(links_of(sequential{glia::parallel{glia::join::multiply{}, glia::identity{},
                                           glia::identity{}, dense{3}},
                            dense{1}},
                 {3}) == links{"input", "identity_0 < input", "identity_1 < input",
                               "dense_0 < input", "multiply_0 < identity_0, identity_1",
                               "parallel_0 < multiply_0, dense_0", "dense_1 < parallel_0"});
  CHECK(links_of(glia::named{"both", glia::parallel{dense{1}, dense{2}}}, {3}).back() ==
        "both < both.dense_0, both.dense_1");
}

TEST_CASE("named inputs and outputs and shared layers are nodes") {
  const glia::shared tower{"tower", dense{2}};
  const sequential network{
      glia::inputs{glia::input{"left", {3}, tower}, glia::input{"right", {3}, tower},
                   glia::input{"age", {1}}},
      glia::outputs{glia::output{"sum", dense{1}}, glia::output{"pair", dense{2}}}};
  CHECK(links_of(network, network.sample_shape()) ==
        links{"left", "tower < left", "right", "tower < right", "age", "age < age",
              "inputs_0 < tower, tower, age", "sum < inputs_0", "sum < sum", "pair < inputs_0",
              "pair < pair"});
  const glia::model_plan plan = glia::plan_model(network, network.sample_shape());
  CHECK(plan.nodes.front().kind == layer_node_kind::input);
  CHECK(plan.nodes.front().output == glia::shape{1, 3});
  CHECK(plan.nodes[6].kind == layer_node_kind::join);
  CHECK(plan.nodes[6].description == "concat");
  CHECK(plan.nodes[6].output == glia::shape{1, 5});
  CHECK(plan.nodes.back().kind == layer_node_kind::output);
  CHECK(plan.nodes[3].layer == 1);
}

TEST_CASE("the summary of a model with branches shows what each layer reads") {
  const glia::model_plan plan = glia::plan_model(
      sequential{dense{2}, glia::residual{sequential{dense{2, glia::relu}, dense{2}}}, dense{1}},
      {3});
  CHECK(glia::summary_table(plan) ==
        "layer                    inputs               output  parameters  FLOPs  activations\n"
        "-----------------------  -------------------  ------  ----------  -----  -----------\n"
        "dense_0  dense(2)        input                (N, 2)           8     14          8 B\n"
        "dense_1  dense(2, relu)  dense_0              (N, 2)           6     12          8 B\n"
        "dense_2  dense(2)        dense_1              (N, 2)           6     10          0 B\n"
        "identity_0  identity     dense_0              (N, 2)           0      0          0 B\n"
        "residual_0  add          dense_2, identity_0  (N, 2)           0      0          0 B\n"
        "dense_3  dense(1)        residual_0           (N, 1)           3      5          0 B\n"
        "-----------------------  -------------------  ------  ----------  -----  -----------\n"
        "total                                         (N, 1)          23     41         16 B\n"
        "FLOPs and activations are those of one sample.\n");
}

TEST_CASE("frozen layers share a row with the joins between them") {
  const glia::residual block{dense{2}};
  const auto rows = glia::detail::rows_of_summary(
      glia::plan_model(sequential{glia::frozen{sequential{block, block}}, dense{1}}, {2}));
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].layer.name == "frozen  4 layers");
  CHECK(rows.rows[0].inputs == links{"input"});
  CHECK(rows.rows[1].layer.name == "residual_1");
  CHECK(rows.rows[2].inputs == links{"residual_1"});
  CHECK_FALSE(
      glia::detail::rows_of_summary(
          glia::plan_model(sequential{glia::frozen{sequential{dense{2}, dense{2}}}, dense{1}}, {2}))
          .has_branches);
}
