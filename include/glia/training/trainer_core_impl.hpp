#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/data/batch_loader.hpp"
#include "glia/data/row_store.hpp"
#include "glia/training/evaluate_core.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/frozen_outputs_impl.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"
#include "glia/training/trainer_core.hpp"

namespace glia {

/// What one call of fit hands down.
template <backend B>
struct trainer_core<B>::session {
  const subject& what;
  const fit_options& options;
  const interrupt_guard& interrupt;
  std::optional<progress>& shown;
  history& result;
};

template <backend B>
trainer_core<B>::trainer_core(const subject& what, trainer_options options)
    : options_(std::move(options)) {
  require_logits(what.net.plan(), what.loss);
  for (const parameter<B>& p : what.net.parameters()) {
    std::vector<tensor>& own = memory_.emplace_back();
    for (std::size_t i = 0; p.spec.trainable && i < what.optimizer.slot_count; ++i) {
      own.push_back(what.net.device().run(kernels::full{p.spec.shape, what.optimizer.slot_start}));
    }
  }
}

template <backend B>
void trainer_core<B>::require_same_model(const model_core<B>& net) const {
  const parameter_list<B>& parameters = net.parameters();
  bool unchanged = parameters.size() == memory_.size();
  for (std::size_t i = 0; unchanged && i < memory_.size(); ++i) {
    unchanged = memory_[i].empty() || memory_[i][0].shape() == parameters[i].spec.shape;
  }
  require<value_error>(unchanged,
                       "trainer: the model's parameters are no longer those that the trainer was "
                       "made for; make a new trainer after assigning or moving a model");
}

template <backend B>
template <class Parameters, class Slots, class Visit>
void trainer_core<B>::for_each_tensor(Parameters& parameters, Slots& slots, const Visit& visit) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_spec& spec = parameters[i].spec;
    visit(spec.name, spec.shape, parameters[i].value);
    for (std::size_t j = 0; j < slots[i].size(); ++j) {
      visit(text(spec.name, ".slot", j), spec.shape, slots[i][j]);
    }
  }
}

template <backend B>
training_state trainer_core<B>::state(const model_core<B>& net) const {
  const model_access::reading unchanged(net.access());
  require_same_model(net);
  training_state result{{}, options_.seed, step_, epochs_, position_};
  for_each_tensor(net.parameters(), memory_,
                  [&](const std::string& name, const shape& s, const tensor& t) {
                    std::vector<typename B::value_type> values(s.size());
                    net.device().to_host(t, std::span(values));
                    result.tensors.push_back({name, s, std::move(values)});
                  });
  return result;
}

template <backend B>
void trainer_core<B>::restore(model_core<B>& net, const training_state& from) {
  using numbers = std::vector<typename B::value_type>;
  const model_access::training alone(net.access());
  require_same_model(net);
  // All is looked at before anything is changed.
  std::size_t count = 0;
  for_each_tensor(
      net.parameters(), memory_, [&](const std::string& name, const shape& s, const tensor&) {
        require<value_error>(count < from.tensors.size(), "trainer: the state has no tensor '",
                             name, "'; it is of another model or optimizer");
        const named_tensor& saved = from.tensors[count++];
        const auto* values = std::get_if<numbers>(&saved.values);
        require<value_error>(
            saved.name == name && saved.shape == s && values != nullptr &&
                values->size() == s.size(),
            "trainer: expected the state of '", name, "' ", s, " in ",
            sizeof(typename B::value_type) == sizeof(float) ? "float" : "double", ", got '",
            saved.name, "' ", saved.shape, " in ",
            std::holds_alternative<std::vector<float>>(saved.values) ? "float" : "double",
            "; it is of another model, optimizer or backend");
      });
  require<value_error>(count == from.tensors.size(), "trainer: the state has ", from.tensors.size(),
                       " tensors, the model and its optimizer ", count,
                       "; it is of another model or optimizer");
  std::vector<tensor> made;
  for (const named_tensor& saved : from.tensors) {
    made.push_back(net.device().from_host(std::span(std::get<numbers>(saved.values)), saved.shape));
  }
  count = 0;
  for_each_tensor(net.parameters(), memory_, [&](const std::string&, const shape&, tensor& t) {
    t = std::move(made[count++]);
  });
  options_.seed = from.seed;
  step_ = from.step;
  epochs_ = from.epoch;
  position_ = from.position;
}

template <backend B>
void trainer_core<B>::step(const subject& what, model_part which, const batch& b,
                           running_scores<B>* sums) {
  model_core<B>& net = what.net;
  const model_access::training alone(net.access());
  const B& device = net.device();
  require_same_model(net);
  net.require_batch(b.input_shape, which);
  require<value_error>(b.size == b.input_shape[0], "trainer: the batch says that it has ", b.size,
                       " samples, its inputs are ", b.input_shape);
  require_targets(what.loss, b.targets);
  if (sums != nullptr) {
    require_metrics(sums->metrics(), net.output_shape(), !b.classes.empty());
    require_classes(what.loss, sums->metrics(), b);
  }
  const targets<B> t = targets_of(device, b, net.output_shape());
  tensor x = device.from_host(std::span<const float>(b.inputs), b.input_shape);
  const auto words =
      step_key{.seed = options_.seed, .step = static_cast<std::uint32_t>(step_)}.to_words();
  tensor key = device.from_host(std::span<const std::int32_t>(words), {words.size()});
  const auto varying = what.optimizer.numbers(step_);
  const std::size_t count = what.optimizer.numbers_per_step;
  tensor numbers = device.from_host(std::span<const double>(varying.data(), count), {count});
  if constexpr (placing_backend<B>) {
    const tensor& wanted = t.classes ? t.classes : t.values;
    const step_shapes shapes{batch_of(b.size, net.sample_shape()), spec_of(wanted),
                             net.depth_first()};
    sums_.resize(sums == nullptr ? 0 : sums->how().results());
    program_for(what, which, shapes, sums)
        .run(std::move(x), wanted, std::move(key), std::move(numbers), net.parameters(), memory_,
             room_, sums_);
    ++step_;  // whatever a metric throws, the step is taken
    if (sums != nullptr) {
      sums->add_results(sums_, b);
    }
  } else {
    tape<B> on(device);
    const auto forward = [&](scope<B>& s, variable<B> samples) {
      return net.run(what.described, s, std::move(samples));
    };
    const auto [y, losses] =
        take_step<B>(on, on.constant(std::move(x)), t, key, numbers, net.parameters(), memory_,
                     {forward, what.loss, what.optimizer, options_.gradients});
    ++step_;
    if (sums != nullptr) {
      sums->add(losses, y, t, b);
    }
  }
}

template <backend B>
const step_program<B>& trainer_core<B>::program_for(
    const subject& what, model_part which, const step_shapes& shapes,
    const running_scores<B>* sums) requires placing_backend<B> {
  const auto fits = [&](const kept_program& known) {
    return known.shapes == shapes && known.which == which &&
           known.scores.has_value() == (sums != nullptr) &&
           (sums == nullptr || *known.scores == sums->how());
  };
  if (what.net.identity() != recorded_) {
    programs_.clear();
    recorded_ = what.net.identity();
  }
  const auto known = std::find_if(programs_.begin(), programs_.end(), fits);
  if (known != programs_.end()) {
    return *known->made;
  }
  if (programs_.size() == most_programs) {
    programs_.erase(programs_.begin());
  }
  const auto scores = sums == nullptr ? std::nullopt : std::optional(sums->how());
  const auto forward = [&](scope<X>& s, variable<X> x) {
    return what.net.run(what.described, s, std::move(x));
  };
  const step_rule<X> rule{forward, what.loss, what.optimizer, options_.gradients};
  programs_.push_back({shapes, which, scores,
                       std::make_shared<const step_program<B>>(
                           what.net.device(), shapes, what.net.parameters(), memory_, rule, scores,
                           which == model_part::trained ? what.net.frontier() : std::nullopt)});
  return *programs_.back().made;
}

template <backend B>
history trainer_core<B>::fit(const subject& what, const dataset_view& train,
                             const dataset_view* validation, const fit_options& options) {
  if (validation != nullptr) {
    require_fitting("fit: validation", *validation, what.net);
  }
  require_same_model(what.net);
  require_fitting("fit", train, what.net);
  require<value_error>(options.batch_size > 0, "fit: expected a batch size of at least 1");
  history result;
  result.metrics = options.metrics.value_or(default_metrics(train));
  for (const dataset_view* data : {&train, validation}) {
    if (data != nullptr) {
      require_metrics(result.metrics, what.net.output_shape(), !data->target_shape());
    }
  }
  const interrupt_guard interrupt;
  std::optional<progress> shown;
  if (options.progress != nullptr) {
    shown.emplace(*options.progress, is_terminal(*options.progress), options.epochs);
  }
  session all{what, options, interrupt, shown, result};
  if (what.net.frontier()) {
    run_behind_frozen_layers(train, validation, all);
  } else {
    run_epochs(train, validation, all);
  }
  if (result.interrupted && shown) {
    shown->note("interrupted; stopped after step " + std::to_string(step_));
  }
  return result;
}

template <backend B>
void trainer_core<B>::run_behind_frozen_layers(const dataset_view& train,
                                               const dataset_view* validation, session& all) {
  const auto start = std::chrono::steady_clock::now();
  const frozen_output_options& how = all.options.frozen;
  const auto worth_keeping = [&](const dataset_view& data) {
    return data.behind_frozen_layers() || (how.keep && !data.varies());
  };
  const bool keep_train = worth_keeping(train);
  all.result.frozen_layers =
      keep_train  ? "the outputs of the frozen layers were computed once and kept"
      : !how.keep ? "the frozen layers run in every step, as the options ask"
                  : "the frozen layers run in every step, as the training samples vary from "
                    "epoch to epoch (they are augmented)";
  if (!keep_train && all.shown) {
    all.shown->note(all.result.frozen_layers);
  }
  // What was kept has to last as long as the views of it.
  std::optional<row_store> rows[2];
  const auto through_frozen_layers = [&](const dataset_view& data, const char* name,
                                         std::optional<row_store>& into) {
    if (data.behind_frozen_layers() || !worth_keeping(data) || all.interrupt.interrupted()) {
      return data;
    }
    into = detail::run_frozen_layers(all.what.net, all.what.described, data, name, how,
                                     all.interrupt, all.shown);
    return into ? data.with_frozen_outputs(*into, all.what.net.frontier()->output) : data;
  };
  const dataset_view training = through_frozen_layers(train, "training", rows[0]);
  std::optional<dataset_view> validating;
  if (validation != nullptr) {
    validating = through_frozen_layers(*validation, "validation", rows[1]);
  }
  all.result.frozen_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  all.result.interrupted = all.interrupt.interrupted();
  if (!keep_train || training.behind_frozen_layers()) {
    run_epochs(training, validating ? &*validating : nullptr, all);
  }
}

template <backend B>
void trainer_core<B>::run_epochs(const dataset_view& train, const dataset_view* validation,
                                 session& all) {
  const auto& [what, options, interrupt, shown, result] = all;
  running_scores<B> sums(what.net.device(), result.metrics,
                         class_border(what.net.plan(), what.loss));
  std::vector<std::uint32_t> order(train.size());
  batch_loader loader(train, options.batch_size);
  for (std::size_t epoch = 1; epoch <= options.epochs && !result.interrupted; ++epoch) {
    std::iota(order.begin(), order.end(), 0U);
    if (options.shuffle) {
      shuffle(std::span(order), {.seed = options_.seed,
                                 .stream = shuffle_stream,
                                 .step = static_cast<std::uint32_t>(epochs_)});
    }
    epoch_record record = train_epoch(part_for(train), loader, order, sums, all, epoch);
    result.interrupted = interrupt.interrupted();
    if (!result.interrupted && validation != nullptr) {
      record.validation = detail::evaluate(what.net, what.described, *validation, what.loss,
                                           {.metrics = result.metrics});
      result.interrupted = interrupt.interrupted();
    }
    result.epochs.push_back(record);
    if (shown) {
      shown->finish_epoch(record, result.metrics);
    }
    if (options.on_epoch_end) {
      options.on_epoch_end(record);
    }
  }
}

template <backend B>
epoch_record trainer_core<B>::train_epoch(model_part which, batch_loader& loader,
                                          const std::vector<std::uint32_t>& order,
                                          running_scores<B>& sums, session& all,
                                          std::size_t epoch) {
  const auto& [what, options, interrupt, shown, result] = all;
  const auto start = std::chrono::steady_clock::now();
  if (shown) {
    shown->start_epoch(epoch, order.size());
  }
  sums.reset();
  std::size_t done = 0;
  position_ = 0;
  loader.start(order, epochs_++);
  while (const batch* b = loader.next()) {
    step(what, which, *b, &sums);
    done += b->size;
    position_ = done < order.size() ? done : 0;
    if (shown) {
      shown->update(done, [&] { return sums.loss(); });
    }
    if (interrupt.interrupted()) {
      break;
    }
  }
  epoch_record record;
  record.epoch = epoch;
  record.samples = done;
  record.training = sums.means();
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record.samples_per_second = static_cast<double>(done) / record.seconds;
  record.learning_rate = what.optimizer.learning_rate(step_ == 0 ? 0 : step_ - 1);
  return record;
}

}  // namespace glia
