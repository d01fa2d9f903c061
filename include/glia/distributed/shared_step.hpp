#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/host_backend.hpp"
#include "glia/distributed/agreement.hpp"
#include "glia/distributed/batch_slice.hpp"
#include "glia/distributed/batch_sum.hpp"
#include "glia/distributed/gradient_program.hpp"
#include "glia/distributed/score_exchange.hpp"
#include "glia/distributed/shared_sum.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/distribution.hpp"
#include "glia/training/step_arguments.hpp"
#include "glia/training/step_runner.hpp"

namespace glia::detail {

/// Takes training steps on several ranks together. Each rank computes the gradients of its pieces
/// of a batch. The sum of a gradient over the ranks begins while other gradients are still
/// computed. Then all ranks make the same update.
class shared_step final : public step_runner {
 public:
  shared_step(distribution shared, rank_group& ranks) : shared_(std::move(shared)), ranks_(&ranks) {
    require<value_error>(!shared_.options.reproducible || !shared_.options.bfloat16_gradients,
                         "distributed: reproducible and bfloat16_gradients cannot both be set, "
                         "because the rounding to bfloat16 depends on the number of ranks");
    constexpr std::size_t maximum = std::size_t{1} << 28;
    require<value_error>(
        shared_.options.bucket_bytes > 0 && shared_.options.bucket_bytes <= maximum,
        "distributed: expected buckets of 1 to ", maximum, " bytes, got ",
        shared_.options.bucket_bytes);
    require<value_error>(shared_.pieces() >= shared_.size(), "distributed: expected at least ",
                         shared_.size(), " pieces of a batch, one for each rank, got ",
                         shared_.pieces());
  }

  void run(const arguments& step) override {
    if (step.job.net.identity() != model_) {
      discard_programs();
      model_ = step.job.net.identity();
    }
    if (last_sum_ == nullptr) {
      require_same_options();
    }
    const batch& slice = step.inputs;
    const std::size_t whole = slice.whole_size();
    const index_range expected = shared_.share().samples(whole);
    require<value_error>(
        slice.first == expected.first && slice.size == expected.size(), "distributed: expected ",
        expected.size(), " samples from index ", expected.first, " of a batch of ", whole,
        " samples for ", ranks_->name_of(shared_.rank()), ", got ", slice.size,
        " samples from index ", slice.first, "; divide the batch with distribution::share");
    count_ = whole;
    counted_ = counted_by(step.job.loss, slice, step.job.net.output_shape());
    if (!counted_.counts_all()) {
      const auto of_ranks = gather_values(*ranks_, count_of(counted_, slice));
      count_ = std::accumulate(of_ranks.begin(), of_ranks.end(), std::size_t{0});
    }
    weight_ = static_cast<double>(count_);
    if (step.scores != nullptr && step.scores->spec().is_weighted()) {
      const auto of_ranks = gather_values(*ranks_, weight_of(counted_, slice));
      weight_ = std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0);
    }
    const joint_step joint(*ranks_);
    const index_range pieces = shared_.share().pieces;
    outputs_.clear();
    shared_sum* sum = nullptr;
    for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
      const auto [first, end] = part_of(whole, piece, shared_.pieces());
      if (first == end) {
        sum = &begin_sum(step.job.net.device(), layout_without_samples(step), sum);
        sum->add_nothing(piece);
        continue;
      }
      const bool is_whole = end - first == slice.size;
      run_piece(step, piece, is_whole ? slice : samples_of(slice, first - slice.first, end - first),
                sum);
    }
    {
      const timeline::span waiting(step.times, "waiting for ranks");
      sum->finish();
    }
    update(step, *sum);
    record_ = sum->record();
    last_sum_ = sum;
  }

  /// Adds the scores of the samples of all ranks.
  void add_scores(const batch& slice, running_scores& scores) const override {
    std::vector<double> of_batch;
    for (const sum_layout::segment& segment : last_sum_->layout().segments) {
      if (!segment.parameter) {
        of_batch.push_back(last_sum_->number(segment));
      }
    }
    scores.add_read(count_, weight_, of_batch);
    if (scores.spec().needs_outputs()) {
      add_outputs_of_all(*ranks_, slice, outputs_, scores);
    }
  }

  [[nodiscard]] piece_share share() const override { return shared_.share(); }
  [[nodiscard]] bool allows_empty_batches() const override { return true; }
  void add_memory(training_memory& memory) const override {
    for (const recorded_gradients& recorded : gradients_) {
      memory.graph = std::max(memory.graph, recorded.program->calls().scratch_bytes());
      memory.batch_tiles = std::max(memory.batch_tiles, recorded.program->calls().lane_bytes());
    }
  }
  [[nodiscard]] batch_sum_record last_sum() const override { return record_; }

 private:
  [[nodiscard]] static std::optional<scoring> scoring_of(const arguments& step) {
    return step.scores == nullptr ? std::nullopt : std::optional(step.scores->spec());
  }

  /// Throws `rank_error` if the ranks have different options. Otherwise they would send different
  /// messages and wait forever.
  void require_same_options() const {
    const distributed_options& options = shared_.options;
    const std::vector<rank_setting> settings{
        {"ranks", text(shared_.size())},
        {"reproducible", text(options.reproducible)},
        {"pieces", text(shared_.pieces())},
        {"bfloat16 gradients", text(options.bfloat16_gradients)},
        {"bucket bytes", text(options.bucket_bytes)},
        {"share memory", text(options.share_memory)}};
    require_same_settings(*ranks_, settings);
  }

  /// A recorded first half of a step and the properties of the batches for which it can be used.
  struct recorded_gradients {
    step_shapes shapes;
    model_part part;
    std::optional<scoring> scores;
    std::unique_ptr<const gradient_program> program;
  };
  static constexpr std::size_t max_programs = 16;
  static constexpr std::size_t max_sums = 4;

  void discard_programs() {
    gradients_.clear();
    updates_.clear();
    sums_.clear();
    last_sum_ = nullptr;
    record_ = {};
  }

  /// Throws `value_error` if the ranks exchange numbers while the graph runs, and not every rank
  /// computes exactly one piece. `whole` is the number of samples of a batch.
  void require_exchange(const gradient_program& program, std::size_t whole) const {
    require<value_error>(
        !program.exchanges_numbers() || !shared_.options.reproducible,
        "distributed: reproducible and sync_batch_norm cannot be combined, because "
        "reproducible computes the pieces of a batch one after another, so that "
        "batch normalization cannot use all of them");
    require<value_error>(!program.exchanges_numbers() || whole >= shared_.size(),
                         "distributed: with sync_batch_norm, expected at least ", shared_.size(),
                         " samples in a batch, one for each rank, got ", whole,
                         "; use another batch size");
  }

  /// Returns the layout of the sum on a rank without samples. It is the same as for one sample.
  [[nodiscard]] const sum_layout& layout_without_samples(const arguments& step) {
    step_shapes shapes = detail::shapes_for(step.job.net, step.inputs, counted_);
    shapes.inputs[0] = 1;
    shapes.targets.values.shape = shapes.targets.values.type == element::index
                                      ? shape{1}
                                      : batch_of(1, sample_of(step.inputs.target_shape));
    return gradients_for(step, shapes).layout();
  }

  /// Returns the sum `begun`, or begins a sum with this layout if `begun` is null.
  [[nodiscard]] shared_sum& begin_sum(const device& source, const sum_layout& layout,
                                      shared_sum* begun) {
    if (begun != nullptr) {
      return *begun;
    }
    const auto found = std::find_if(sums_.begin(), sums_.end(),
                                    [&](const auto& sum) { return sum->layout() == layout; });
    if (found != sums_.end()) {
      (*found)->begin();
      return **found;
    }
    if (sums_.size() == max_sums) {
      sums_.erase(sums_.begin());
    }
    if (source.real_bytes() == sizeof(float)) {
      sums_.push_back(std::make_unique<shared_sum_of<float>>(shared_, *ranks_, layout));
    } else {
      sums_.push_back(std::make_unique<shared_sum_of<double>>(shared_, *ranks_, layout));
    }
    sums_.back()->begin();
    return *sums_.back();
  }

  [[nodiscard]] const gradient_program& gradients_for(const arguments& step,
                                                      const step_shapes& shapes) {
    const auto scores = scoring_of(step);
    const auto fits = [&](const recorded_gradients& recorded) {
      return recorded.shapes == shapes && recorded.part == step.part && recorded.scores == scores;
    };
    const auto found = std::find_if(gradients_.begin(), gradients_.end(), fits);
    if (found != gradients_.end()) {
      require_exchange(*found->program, step.inputs.whole_size());
      return *found->program;
    }
    if (gradients_.size() == max_programs) {
      gradients_.erase(gradients_.begin());
    }
    const model_core& net = step.job.net;
    gradients_.push_back({shapes, step.part, scores,
                          std::make_unique<const gradient_program>(
                              net.device(), shapes, net.parameters(), step.job, scores,
                              step.part == model_part::trained ? net.frontier() : std::nullopt)});
    require_exchange(*gradients_.back().program, step.inputs.whole_size());
    return *gradients_.back().program;
  }

  void run_piece(const arguments& step, std::size_t piece, const batch& b, shared_sum*& sum) {
    const model_core& net = step.job.net;
    const glia::device& device = net.device();
    const std::size_t rows = (step.rows + shared_.pieces() - 1) / shared_.pieces();
    const auto program_for = [&](const batch& inputs) -> const gradient_program& {
      return gradients_for(step, detail::shapes_for(net, inputs, counted_));
    };
    const std::optional<batch> padded_inputs = detail::padded_for(device, b, rows, program_for);
    const batch& input = padded_inputs ? *padded_inputs : b;
    const gradient_program& program = program_for(input);
    sum = &begin_sum(device, program.layout(), sum);
    const auto whole = static_cast<double>(b.whole_size());
    const double share = static_cast<double>(b.size) / whole;
    tensor x = device.samples_from_host(std::span<const float>(input.inputs), input.input_shape);
    targets t = targets_of(device, input, net.output_shape());
    tensor key = detail::key_tensor(device, step.state.counters(), b.first);
    const auto count = static_cast<double>(std::max<std::size_t>(count_, 1));
    tensor loss_scale = device.run(kernels::full{{}, 1 / count});
    tensor of_whole = device.run(kernels::full{{}, share});
    argument_buffer_.assign({&x});
    append_targets(t, argument_buffer_);
    argument_buffer_.insert(argument_buffer_.end(), {&key, &loss_scale, &of_whole});
    tensor present;
    if (device.compiles_whole_graphs() || !counted_.counts_all()) {
      present = present_rows(device, counted_, input, b.size);
      argument_buffer_.push_back(&present);
    }
    for (parameter& p : step.job.net.parameters()) {
      argument_buffer_.push_back(&p.value);
    }
    const std::size_t segments = program.layout().segments.size();
    const bool scored = step.scores != nullptr && step.scores->spec().needs_outputs();
    tensor y;
    if (const host_memory_backend* const host = host_memory_of(device)) {
      std::vector<tensor> places = sum->places_for(piece);
      if (scored) {
        places.push_back(host->uninitialized(real_of(batch_of(input.size, net.output_shape()))));
      }
      program.calls().run_into(
          argument_buffer_, places,
          [&](std::size_t i) {
            if (i < segments) {
              sum->add(piece, i);
            }
          },
          step.times);
      y = scored ? places.back() : tensor{};
    } else {
      std::vector<tensor> results(segments + (scored ? 1 : 0));
      program.calls().run(argument_buffer_, results, {}, nullptr, step.times);
      for (std::size_t i = 0; i < segments; ++i) {
        sum->add(device, piece, i, results[i]);
      }
      y = scored ? results.back() : tensor{};
    }
    if (scored) {
      const std::size_t offset = outputs_.size();
      outputs_.resize(offset + b.size * net.output_shape().size());
      first_to_host(device, y, std::span(outputs_).subspan(offset));
    }
  }

  void update(const arguments& step, const shared_sum& sum) {
    const training_job& job = step.job;
    const glia::device& device = job.net.device();
    parameter_list& parameters = job.net.parameters();
    slot_lists& slots = step.state.slots();
    auto found = std::find_if(updates_.begin(), updates_.end(),
                              [&](const auto& update) { return update.first == sum.layout(); });
    if (found == updates_.end()) {
      updates_.emplace_back(sum.layout(),
                            update_program(device, sum.layout(), parameters, slots, job));
      found = updates_.end() - 1;
    }
    std::vector<tensor> gradients;
    for (const sum_layout::segment& segment : sum.layout().segments) {
      if (segment.gradient) {
        gradients.push_back(sum.values_on(device, segment));
      } else if (segment.parameter) {
        parameters[*segment.parameter].value = sum.copied_to(device, segment);
      }
    }
    found->second.run(detail::optimizer_numbers(job, step.state.counters()), gradients, parameters,
                      slots, argument_buffer_, step.times);
  }

  distribution shared_;
  rank_group* ranks_;                  // shared_.ranks
  std::shared_ptr<const char> model_;  // of the recorded programs; see model_core::identity
  std::vector<recorded_gradients> gradients_;
  std::vector<std::pair<sum_layout, update_program>> updates_;
  std::vector<std::unique_ptr<shared_sum>> sums_;
  std::vector<tensor*> argument_buffer_;
  batch_sum_record record_;
  const shared_sum* last_sum_ = nullptr;  // sum of the last step
  counted_targets counted_;               // decides which samples of the batch are ignored
  std::size_t count_ = 0;                 // its samples that are not ignored, on all ranks
  double weight_ = 0;                     // sum of the weights of these samples
  std::vector<float> outputs_;            // its outputs on this rank, if a metric needs them
};

}  // namespace glia::detail
