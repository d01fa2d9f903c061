#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/distributed/batch_sum.hpp"
#include "glia/distributed/distribution.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/training/agreement.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/gradient_program.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/shared_scores.hpp"

namespace glia {

/// Copies the samples [first, first + count) of a batch.
[[nodiscard]] inline batch samples_of(const batch& b, std::size_t first, std::size_t count) {
  batch result;
  const auto take = [&](const auto& from, auto& to) {
    const std::size_t each = from.size() / b.size;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first * each);
    to.assign(begin, begin + static_cast<std::ptrdiff_t>(count * each));
  };
  take(b.inputs, result.inputs);
  take(b.labels, result.labels);
  take(b.targets, result.targets);
  result.size = count;
  result.input_shape = batch_of(count, sample_of(b.input_shape));
  if (b.target_shape.rank() > 0) {
    result.target_shape = batch_of(count, sample_of(b.target_shape));
  }
  result.first = b.first + first;
  result.whole = b.whole_size();
  return result;
}

/// The sum of a vector over the pieces of a batch. The pieces are on several ranks. Contains the
/// memory and the thread for the sum.
template <backend B>
class shared_sum {
 public:
  using T = typename B::value_type;
  using tensor = typename B::tensor;

  shared_sum(const distribution& over, rank_group& ranks, sum_layout what)
      : layout_(std::move(what)),
        sum_(ranks, layout_.size(),
             {.pieces = over.pieces(),
              .bucket_bytes = over.options.bucket_bytes,
              .rounded = over.options.bfloat16_gradients ? layout_.gradients() : 0,
              .overlap = over.options.overlap,
              .share_memory = over.options.share_memory}) {}

  [[nodiscard]] const sum_layout& layout() const { return layout_; }
  [[nodiscard]] const batch_sum_record& record() const { return sum_.record(); }
  void begin() { sum_.begin(); }
  void finish() { sum_.finish(); }

  /// The tensors to which the backward pass of a piece writes its results, on backends whose
  /// tensors are in host memory.
  [[nodiscard]] std::vector<tensor> places_for(std::size_t piece) const {
    std::vector<tensor> places;
    for (const sum_layout::segment& one : layout_.segments) {
      places.push_back(tensor::over(sum_.memory_for(piece) + one.first, real_of(one.what)));
    }
    return places;
  }
  /// Adds a segment of a piece. The segment is already in the memory of the sum.
  void add(std::size_t piece, std::size_t segment) {
    sum_.add(piece, layout_.segments[segment].first, layout_.segments[segment].end());
  }
  /// Copies a segment of a piece from the device and adds it.
  void add(const B& device, std::size_t piece, std::size_t segment, const tensor& from) {
    const sum_layout::segment& one = layout_.segments[segment];
    T* const to = sum_.memory_for(piece) + one.first;
    device.to_host(from, std::span(to, one.what.size()));
    add(piece, segment);
  }
  /// Adds zeros for a piece without samples.
  void add_nothing(std::size_t piece) {
    std::fill_n(sum_.memory_for(piece), layout_.size(), T(0));
    sum_.add(piece, 0, layout_.size());
  }

  /// The sum of a segment, on the host.
  [[nodiscard]] std::span<const T> values(const sum_layout::segment& one) const {
    return {sum_.sum() + one.first, one.what.size()};
  }
  /// The sum of a segment, on the device.
  [[nodiscard]] tensor on(const B& device, const sum_layout::segment& one) const {
    if constexpr (host_memory_backend<B>) {
      return tensor::over(sum_.sum() + one.first, real_of(one.what));
    } else {
      return device.from_host(values(one), one.what);
    }
  }

 private:
  sum_layout layout_;
  batch_sum<T> sum_;
};

/// Takes training steps on several ranks together. Each rank computes the gradients of its pieces
/// of a batch. The sum of a gradient over the ranks begins while other gradients are still
/// computed. Then all ranks make the same update.
template <backend B>
class shared_step {
 public:
  using X = tracing_backend<B>;
  using tensor = typename B::tensor;

  explicit shared_step(distribution over) : over_(std::move(over)) {
    require<value_error>(!over_.options.reproducible || !over_.options.bfloat16_gradients,
                         "distributed: reproducible and bfloat16_gradients cannot both be set, "
                         "because the rounding to bfloat16 depends on the number of ranks");
    require<value_error>(
        !over_.options.reproducible || !over_.options.sync_batch_norm,
        "distributed: reproducible and sync_batch_norm cannot both be set, because "
        "reproducible computes the pieces of a batch one after another, so that "
        "batch normalization cannot use all of them");
    constexpr std::size_t most = std::size_t{1} << 28;
    require<value_error>(over_.options.bucket_bytes > 0 && over_.options.bucket_bytes <= most,
                         "distributed: expected buckets of 1 to ", most, " bytes, got ",
                         over_.options.bucket_bytes);
    require<value_error>(over_.pieces() >= over_.size(), "distributed: expected at least ",
                         over_.size(), " pieces of a batch, one for each rank, got ",
                         over_.pieces());
    if (!over_.ranks) {
      over_.ranks = std::make_shared<lone_rank>();
    }
  }

  [[nodiscard]] rank_group& ranks() const { return *over_.ranks; }
  [[nodiscard]] const distribution& over() const { return over_; }

  /// The arguments of a training step.
  struct step {
    const B& device;
    model_part which;
    parameter_list<B>& parameters;
    slot_lists<B>& slots;  ///< State of the optimizer.
    const step_rule<X>& rule;
    const shape& sample;  ///< Shape of the model's samples.
    const shape& output;  ///< Shape of the model's outputs for a sample.
    bool depth_first;
    const std::optional<frozen_end>& frontier;
    const counted_targets& counted;  ///< Targets that decide whether a sample is ignored.
    tensor numbers;                  ///< Numbers of the optimizer for this step.
    step_key key;
    timeline* times;  ///< Recording of the step; can be null.
  };

  /// Takes a step on this rank's samples of a batch, and computes the sums of `scores` if it is not
  /// empty. `rows` is the number of samples in a piece of a full batch.
  void run(const step& at, const batch& own, const std::optional<scoring>& scores,
           std::size_t rows) {
    if (taken_ == nullptr) {
      require_same_options();
    }
    const std::size_t whole = own.whole_size();
    const index_range expected = over_.share().samples(whole);
    require<value_error>(
        own.first == expected.first && own.size == expected.size(), "distributed: expected ",
        expected.size(), " samples from index ", expected.first, " of a batch of ", whole,
        " samples for ", over_.ranks->name_of(over_.rank()), ", got ", own.size,
        " samples from index ", own.first, "; divide the batch with distribution::share");
    require<value_error>(!over_.options.sync_batch_norm || whole >= over_.size(),
                         "distributed: with sync_batch_norm, expected at least ", over_.size(),
                         " samples in a batch, one for each rank, got ", whole,
                         "; use another batch size");
    count_ = whole;
    if (!at.counted.all()) {
      const auto of_ranks = gather_values(*over_.ranks, count_of(at.counted, own));
      count_ = std::accumulate(of_ranks.begin(), of_ranks.end(), std::size_t{0});
    }
    const index_range pieces = over_.share().pieces;
    outputs_.clear();
    shared_sum<B>* sum = nullptr;
    for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
      const auto [first, end] = part_of(whole, piece, over_.pieces());
      if (first == end) {
        sum = &begin_sum(layout_of(at, own, scores), sum);
        sum->add_nothing(piece);
        continue;
      }
      const bool all = end - first == own.size;
      run_piece(at, piece, all ? own : samples_of(own, first - own.first, end - first), rows,
                scores, sum);
    }
    {
      const timeline::span waiting(at.times, "waiting for ranks");
      sum->finish();
    }
    update(at, *sum);
    record_ = sum->record();
    taken_ = sum;
  }

  /// Adds the loss and the metrics of the last step to `sums`, for the samples of all ranks.
  void add_scores(const batch& own, running_scores<B>& sums) const {
    std::vector<double> of_batch;
    for (const sum_layout::segment& one : taken_->layout().segments) {
      if (!one.parameter) {
        of_batch.push_back(static_cast<double>(taken_->values(one)[0]));
      }
    }
    sums.add_read(count_, of_batch);
    if (sums.how().needs_outputs()) {
      add_outputs_of_all(*over_.ranks, own, outputs_, sums);
    }
  }

  [[nodiscard]] const batch_sum_record& record() const { return record_; }
  /// The working memory of the largest graph, in bytes.
  [[nodiscard]] std::size_t scratch_bytes() const {
    std::size_t most = 0;
    for (const kept_gradients& one : gradients_) {
      most = std::max(most, one.made->calls().scratch_bytes());
    }
    return most;
  }
  /// The working memory for batch tiles of the graph that needs most, in bytes.
  [[nodiscard]] std::size_t lane_bytes() const {
    std::size_t most = 0;
    for (const kept_gradients& one : gradients_) {
      most = std::max(most, one.made->calls().lane_bytes());
    }
    return most;
  }

 private:
  /// Throws `rank_error` if the ranks have different options. Otherwise they would send different
  /// messages and wait forever.
  void require_same_options() const {
    const distributed_options& how = over_.options;
    const std::vector<rank_setting> own{{"ranks", text(over_.size())},
                                        {"reproducible", text(how.reproducible)},
                                        {"pieces", text(over_.pieces())},
                                        {"synchronized batch norm", text(how.sync_batch_norm)},
                                        {"bfloat16 gradients", text(how.bfloat16_gradients)},
                                        {"bucket bytes", text(how.bucket_bytes)},
                                        {"share memory", text(how.share_memory)}};
    require_same_settings(*over_.ranks, own);
  }

  struct kept_gradients {
    step_shapes shapes;
    model_part which;
    std::optional<scoring> scores;
    std::shared_ptr<const gradient_program<B>> made;
  };
  static constexpr std::size_t most_programs = 16;
  static constexpr std::size_t most_sums = 4;

  /// Whether steps use batch tiles. With `sync_batch_norm` they do not: the ranks then exchange
  /// messages within a step, in an order that must not depend on the number of samples of a rank.
  [[nodiscard]] bool depth_first(const step& at) const {
    return at.depth_first && !over_.options.sync_batch_norm;
  }
  [[nodiscard]] step_shapes shapes_for(const step& at, const batch& b) const {
    return {batch_of(b.size, at.sample), target_spec(b), depth_first(at), !at.counted.all()};
  }

  /// Returns the layout of the sum on a rank without samples. It is the same as for one sample.
  [[nodiscard]] const sum_layout& layout_of(const step& at, const batch& own,
                                            const std::optional<scoring>& scores) {
    step_shapes one = shapes_for(at, own);
    one.inputs[0] = 1;
    one.targets.shape =
        one.targets.type == element::index ? shape{1} : batch_of(1, sample_of(own.target_shape));
    return gradients_for(at, one, scores).layout();
  }

  /// Returns the sum `begun`, or begins a sum with this layout if `begun` is null.
  [[nodiscard]] shared_sum<B>& begin_sum(const sum_layout& layout, shared_sum<B>* begun) {
    if (begun != nullptr) {
      return *begun;
    }
    const auto known = std::find_if(sums_.begin(), sums_.end(),
                                    [&](const auto& one) { return one->layout() == layout; });
    if (known != sums_.end()) {
      (*known)->begin();
      return **known;
    }
    if (sums_.size() == most_sums) {
      sums_.erase(sums_.begin());
    }
    sums_.push_back(std::make_unique<shared_sum<B>>(over_, *over_.ranks, layout));
    sums_.back()->begin();
    return *sums_.back();
  }

  [[nodiscard]] const gradient_program<B>& gradients_for(const step& at, const step_shapes& shapes,
                                                         const std::optional<scoring>& scores) {
    const auto fits = [&](const kept_gradients& known) {
      return known.shapes == shapes && known.which == at.which && known.scores == scores;
    };
    const auto known = std::find_if(gradients_.begin(), gradients_.end(), fits);
    if (known != gradients_.end()) {
      return *known->made;
    }
    if (gradients_.size() == most_programs) {
      gradients_.erase(gradients_.begin());
    }
    gradients_.push_back({shapes, at.which, scores,
                          std::make_shared<const gradient_program<B>>(
                              at.device, shapes, at.parameters, at.rule, scores,
                              at.which == model_part::trained ? at.frontier : std::nullopt,
                              over_.options.sync_batch_norm ? over_.ranks.get() : nullptr)});
    return *gradients_.back().made;
  }

  void run_piece(const step& at, std::size_t piece, const batch& b, std::size_t rows,
                 const std::optional<scoring>& scores, shared_sum<B>*& sum) {
    std::optional<batch> filled;
    if (compiling_backend<B> && rows > b.size) {
      filled = filled_up(b, rows);
      if (gradients_for(at, shapes_for(at, *filled), scores).mixes_samples()) {
        filled.reset();  // padding would change the results
      }
    }
    const batch& given = filled ? *filled : b;
    const gradient_program<B>& program = gradients_for(at, shapes_for(at, given), scores);
    sum = &begin_sum(program.layout(), sum);
    const B& device = at.device;
    step_key key = at.key;
    key.first_sample = static_cast<std::uint32_t>(b.first);
    const auto words = key.to_words();
    const auto whole = static_cast<double>(b.whole_size());
    const double share = static_cast<double>(b.size) / whole;
    tensor x = samples_from_host(device, std::span<const float>(given.inputs), given.input_shape);
    targets<B> t = targets_of(device, given, at.output);
    tensor in_key = device.from_host(std::span<const std::int32_t>(words), {words.size()});
    const auto count = static_cast<double>(std::max<std::size_t>(count_, 1));
    tensor each = device.run(kernels::full{{}, 1 / count});
    tensor of_whole = device.run(kernels::full{{}, share});
    room_.assign({&x, t.labels ? &t.labels : &t.values, &in_key, &each, &of_whole});
    tensor present;
    if (compiling_backend<B> || !at.counted.all()) {
      present = present_rows(device, at.counted, given, b.size);
      room_.push_back(&present);
    }
    for (parameter<B>& p : at.parameters) {
      room_.push_back(&p.value);
    }
    const std::size_t segments = program.layout().segments.size();
    const bool scored = scores && scores->needs_outputs();
    tensor y;
    if constexpr (host_memory_backend<B>) {
      std::vector<tensor> places = sum->places_for(piece);
      if (scored) {
        places.push_back(device.uninitialized(real_of(batch_of(given.size, at.output))));
      }
      program.calls().run_into(
          room_, places,
          [&](std::size_t i) {
            if (i < segments) {
              sum->add(piece, i);
            }
          },
          at.times);
      y = scored ? places.back() : tensor{};
    } else {
      std::vector<tensor> results(segments + (scored ? 1 : 0));
      program.calls().run(room_, results, {}, nullptr, at.times);
      for (std::size_t i = 0; i < segments; ++i) {
        sum->add(device, piece, i, results[i]);
      }
      y = scored ? results.back() : tensor{};
    }
    if (scored) {
      const std::size_t before = outputs_.size();
      outputs_.resize(before + b.size * at.output.size());
      first_to_host(device, y, std::span(outputs_).subspan(before));
    }
  }

  void update(const step& at, const shared_sum<B>& sum) {
    const auto of_layout = [&](const auto& known) { return known.first == sum.layout(); };
    auto known = std::find_if(updates_.begin(), updates_.end(), of_layout);
    if (known == updates_.end()) {
      updates_.emplace_back(sum.layout(), update_program<B>(at.device, sum.layout(), at.parameters,
                                                            at.slots, at.rule));
      known = updates_.end() - 1;
    }
    std::vector<tensor> gradients;
    for (const sum_layout::segment& one : sum.layout().segments) {
      if (one.gradient) {
        gradients.push_back(sum.on(at.device, one));
      } else if (one.parameter) {
        at.parameters[*one.parameter].value = at.device.from_host(sum.values(one), one.what);
      }
    }
    known->second.run(at.numbers, gradients, at.parameters, at.slots, room_, at.times);
  }

  distribution over_;
  std::vector<kept_gradients> gradients_;
  std::vector<std::pair<sum_layout, update_program<B>>> updates_;
  std::vector<std::unique_ptr<shared_sum<B>>> sums_;
  std::vector<tensor*> room_;
  batch_sum_record record_;
  const shared_sum<B>* taken_ = nullptr;  // sum of the last step
  std::size_t count_ = 0;                 // its samples that are not ignored, on all ranks
  std::vector<float> outputs_;            // its outputs on this rank, if a metric needs them
};

}  // namespace glia
