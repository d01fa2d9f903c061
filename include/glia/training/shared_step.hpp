#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/host_backend.hpp"
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
class shared_sum {
 public:
  explicit shared_sum(sum_layout what) : layout_(std::move(what)) {}
  shared_sum(const shared_sum&) = delete;
  shared_sum& operator=(const shared_sum&) = delete;
  virtual ~shared_sum() = default;

  [[nodiscard]] const sum_layout& layout() const { return layout_; }
  [[nodiscard]] virtual const batch_sum_record& record() const = 0;
  virtual void begin() = 0;
  virtual void finish() = 0;

  /// The tensors to which the backward pass of a piece writes its results, on devices in host
  /// memory.
  [[nodiscard]] virtual std::vector<tensor> places_for(std::size_t piece) const = 0;
  /// Adds a segment of a piece. The segment is already in the memory of the sum.
  virtual void add(std::size_t piece, std::size_t segment) = 0;
  /// Copies a segment of a piece from the device and adds it.
  virtual void add(const device& from, std::size_t piece, std::size_t segment,
                   const tensor& values) = 0;
  /// Adds zeros for a piece without samples.
  virtual void add_nothing(std::size_t piece) = 0;

  /// The sum of a segment of one number.
  [[nodiscard]] virtual double number(const sum_layout::segment& one) const = 0;
  /// The sum of a segment, copied to the device.
  [[nodiscard]] virtual tensor copied_to(const device& to,
                                         const sum_layout::segment& one) const = 0;
  /// The sum of a segment, on the device. On devices in host memory it is not copied.
  [[nodiscard]] virtual tensor on(const device& to, const sum_layout::segment& one) const = 0;

 private:
  sum_layout layout_;
};

/// Returns the backend of a device in host memory, or null for other devices.
[[nodiscard]] inline const host_memory_backend* host_memory_of(const device& on) {
  return dynamic_cast<const host_memory_backend*>(&on.implementation());
}

/// A sum of numbers of type T.
template <class T>
class shared_sum_of final : public shared_sum {
 public:
  shared_sum_of(const distribution& over, rank_group& ranks, const sum_layout& what)
      : shared_sum(what),
        sum_(ranks, layout().size(),
             {.pieces = over.pieces(),
              .bucket_bytes = over.options.bucket_bytes,
              .rounded = over.options.bfloat16_gradients ? layout().gradients() : 0,
              .overlap = over.options.overlap,
              .share_memory = over.options.share_memory}) {}

  [[nodiscard]] const batch_sum_record& record() const override { return sum_.record(); }
  void begin() override { sum_.begin(); }
  void finish() override { sum_.finish(); }

  [[nodiscard]] std::vector<tensor> places_for(std::size_t piece) const override {
    std::vector<tensor> places;
    for (const sum_layout::segment& one : layout().segments) {
      places.push_back(
          tensor::over(sum_.memory_for(piece) + one.first, real_of(one.what), sizeof(T)));
    }
    return places;
  }
  void add(std::size_t piece, std::size_t segment) override {
    const sum_layout::segment& one = layout().segments[segment];
    sum_.add(piece, one.first, one.end());
  }
  void add(const device& from, std::size_t piece, std::size_t segment,
           const tensor& values) override {
    const sum_layout::segment& one = layout().segments[segment];
    from.to_host(values, std::span(sum_.memory_for(piece) + one.first, one.what.size()));
    add(piece, segment);
  }
  void add_nothing(std::size_t piece) override {
    std::fill_n(sum_.memory_for(piece), layout().size(), T(0));
    sum_.add(piece, 0, layout().size());
  }

  [[nodiscard]] double number(const sum_layout::segment& one) const override {
    return static_cast<double>(sum_.sum()[one.first]);
  }
  [[nodiscard]] tensor copied_to(const device& to, const sum_layout::segment& one) const override {
    return to.from_host(std::span<const T>(sum_.sum() + one.first, one.what.size()), one.what);
  }
  [[nodiscard]] tensor on(const device& to, const sum_layout::segment& one) const override {
    return host_memory_of(to) == nullptr
               ? copied_to(to, one)
               : tensor::over(sum_.sum() + one.first, real_of(one.what), sizeof(T));
  }

 private:
  batch_sum<T> sum_;
};

/// Takes training steps on several ranks together. Each rank computes the gradients of its pieces
/// of a batch. The sum of a gradient over the ranks begins while other gradients are still
/// computed. Then all ranks make the same update.
class shared_step {
 public:
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
    const glia::device& device;
    model_part which;
    parameter_list& parameters;
    slot_lists& slots;  ///< State of the optimizer.
    const step_rule& rule;
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
    shared_sum* sum = nullptr;
    for (std::size_t piece = pieces.first; piece < pieces.end; ++piece) {
      const auto [first, end] = part_of(whole, piece, over_.pieces());
      if (first == end) {
        sum = &begin_sum(at.device, layout_of(at, own, scores), sum);
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
  void add_scores(const batch& own, running_scores& sums) const {
    std::vector<double> of_batch;
    for (const sum_layout::segment& one : taken_->layout().segments) {
      if (!one.parameter) {
        of_batch.push_back(taken_->number(one));
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
    std::shared_ptr<const gradient_program> made;
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
  [[nodiscard]] shared_sum& begin_sum(const device& on, const sum_layout& layout,
                                      shared_sum* begun) {
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
    if (on.real_bytes() == sizeof(float)) {
      sums_.push_back(std::make_unique<shared_sum_of<float>>(over_, *over_.ranks, layout));
    } else {
      sums_.push_back(std::make_unique<shared_sum_of<double>>(over_, *over_.ranks, layout));
    }
    sums_.back()->begin();
    return *sums_.back();
  }

  [[nodiscard]] const gradient_program& gradients_for(const step& at, const step_shapes& shapes,
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
                          std::make_shared<const gradient_program>(
                              at.device, shapes, at.parameters, at.rule, scores,
                              at.which == model_part::trained ? at.frontier : std::nullopt,
                              over_.options.sync_batch_norm ? over_.ranks.get() : nullptr)});
    return *gradients_.back().made;
  }

  void run_piece(const step& at, std::size_t piece, const batch& b, std::size_t rows,
                 const std::optional<scoring>& scores, shared_sum*& sum) {
    std::optional<batch> filled;
    if (at.device.compiles_whole_graphs() && rows > b.size) {
      filled = filled_up(b, rows);
      if (gradients_for(at, shapes_for(at, *filled), scores).mixes_samples()) {
        filled.reset();  // padding would change the results
      }
    }
    const batch& given = filled ? *filled : b;
    const gradient_program& program = gradients_for(at, shapes_for(at, given), scores);
    sum = &begin_sum(at.device, program.layout(), sum);
    const glia::device& device = at.device;
    step_key key = at.key;
    key.first_sample = static_cast<std::uint32_t>(b.first);
    const auto words = key.to_words();
    const auto whole = static_cast<double>(b.whole_size());
    const double share = static_cast<double>(b.size) / whole;
    tensor x = device.samples_from_host(std::span<const float>(given.inputs), given.input_shape);
    targets t = targets_of(device, given, at.output);
    tensor in_key = device.from_host(std::span<const std::int32_t>(words), {words.size()});
    const auto count = static_cast<double>(std::max<std::size_t>(count_, 1));
    tensor each = device.run(kernels::full{{}, 1 / count});
    tensor of_whole = device.run(kernels::full{{}, share});
    room_.assign({&x, t.labels ? &t.labels : &t.values, &in_key, &each, &of_whole});
    tensor present;
    if (device.compiles_whole_graphs() || !at.counted.all()) {
      present = present_rows(device, at.counted, given, b.size);
      room_.push_back(&present);
    }
    for (parameter& p : at.parameters) {
      room_.push_back(&p.value);
    }
    const std::size_t segments = program.layout().segments.size();
    const bool scored = scores && scores->needs_outputs();
    tensor y;
    if (const host_memory_backend* const host = host_memory_of(device)) {
      std::vector<tensor> places = sum->places_for(piece);
      if (scored) {
        places.push_back(host->uninitialized(real_of(batch_of(given.size, at.output))));
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

  void update(const step& at, const shared_sum& sum) {
    const auto of_layout = [&](const auto& known) { return known.first == sum.layout(); };
    auto known = std::find_if(updates_.begin(), updates_.end(), of_layout);
    if (known == updates_.end()) {
      updates_.emplace_back(
          sum.layout(), update_program(at.device, sum.layout(), at.parameters, at.slots, at.rule));
      known = updates_.end() - 1;
    }
    std::vector<tensor> gradients;
    for (const sum_layout::segment& one : sum.layout().segments) {
      if (one.gradient) {
        gradients.push_back(sum.on(at.device, one));
      } else if (one.parameter) {
        at.parameters[*one.parameter].value = sum.copied_to(at.device, one);
      }
    }
    known->second.run(at.numbers, gradients, at.parameters, at.slots, room_, at.times);
  }

  distribution over_;
  std::vector<kept_gradients> gradients_;
  std::vector<std::pair<sum_layout, update_program>> updates_;
  std::vector<std::unique_ptr<shared_sum>> sums_;
  std::vector<tensor*> room_;
  batch_sum_record record_;
  const shared_sum* taken_ = nullptr;  // sum of the last step
  std::size_t count_ = 0;              // its samples that are not ignored, on all ranks
  std::vector<float> outputs_;         // its outputs on this rank, if a metric needs them
};

}  // namespace glia
