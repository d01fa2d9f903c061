#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/data/batch_loader.hpp"
#include "glia/losses/targets.hpp"
#include "glia/models/model.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/optimizers/clipping.hpp"
#include "glia/optimizers/optimizer.hpp"
#include "glia/training/evaluate.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/history.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"
#include "glia/training/step_program.hpp"

namespace glia {

struct trainer_options {
  std::uint64_t seed = 1;        ///< of shuffling and of random layers
  gradient_clipping clipping{};  ///< clip_by_norm(1.0), clip_by_value(0.5); default: none
};

struct fit_options {
  std::size_t epochs = 1;
  std::size_t batch_size = 32;  ///< at least 1; the last batch of an epoch may be smaller
  bool shuffle = true;
  std::optional<std::vector<metric>> metrics = {};  ///< default: accuracy, where there are classes
  std::ostream* progress = &std::cout;              ///< nullptr: silent
  std::function<void(const epoch_record&)> on_epoch_end = {};
  frozen_output_options frozen{};  ///< only for models that begin with frozen layers
};

/// Trains a model: holds the loss, the optimizer and what the optimizer remembers between steps. A
/// step is a function of parameters, optimizer state, batch and step number alone.
///
///     glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
///     trainer.fit(train, test, {.epochs = 20, .batch_size = 100});
///
/// The model must outlive the trainer. Trainers of different models may run on threads of their
/// own, on one device too; a step of a model that another thread is just training throws
/// `value_error`.
template <class Model, loss_function<typename Model::backend_type> Loss,
          optimizer<typename Model::backend_type> Optimizer>
class trainer {
 public:
  using B = typename Model::backend_type;
  using tensor = typename B::tensor;

  trainer(Model& net, Loss loss, Optimizer update_rule, const trainer_options& options = {})
      : net_(&net), loss_(std::move(loss)), optimizer_(std::move(update_rule)), options_(options) {
    require_logits(net, loss_);
    for (const parameter<B>& p : net.parameters()) {
      std::vector<tensor>& own = memory_.emplace_back();
      for (std::size_t i = 0; p.spec.trainable && i < optimizer_.slot_count(); ++i) {
        own.push_back(net.device().run(kernels::full{p.spec.shape, optimizer_.slot_start()}));
      }
    }
  }

  /// Steps taken so far.
  [[nodiscard]] std::size_t step_count() const { return step_; }

  /// One step on one batch: forward, backward, update. Adds the batch's loss and metrics to `sums`
  /// if given. After the first steps it allocates nothing from the system.
  void step(const batch& b, running_scores<B>* sums = nullptr) { step(*net_, b, sums); }

  /// Trains for a number of epochs and reports on each; `validation` is evaluated after each.
  /// Ctrl-C stops after the step in progress and keeps the history.
  ///
  /// Where the model begins with frozen layers, their outputs are computed once and kept, unless
  /// the options say otherwise or the samples vary from epoch to epoch. Data may also come as
  /// `frozen_outputs`.
  template <supervised_dataset Train, supervised_dataset Validation>
  history fit(const Train& train, const Validation& validation, const fit_options& options = {}) {
    if constexpr (!detail::is_frozen_outputs<Validation>) {
      require_fitting("fit: validation", *net_, validation);
    }
    return run(train, options, &validation);
  }
  template <supervised_dataset Train>
  history fit(const Train& train, const fit_options& options = {}) {
    return run(train, options, static_cast<const Train*>(nullptr));
  }
  /// Says what to do where one of the two is no data set.
  template <class Train, class Second = fit_options>
  requires(!supervised_dataset<Train> ||
           !(supervised_dataset<Second> || std::same_as<Second, fit_options>)) history
      fit(const Train&, const Second& = {}, const fit_options& = {}) {
    static_assert(!std::same_as<Train, Train>,
                  "fit takes data sets: make one of arrays by glia::labelled_arrays{x, classes} or "
                  "glia::valued_arrays{x, values}; of a type of your own, see data/dataset.hpp");
    return {};
  }

 private:
  /// Scores on the validation data, if there are any.
  using validate_function = std::function<std::optional<scores>(const std::vector<metric>&)>;

  static constexpr std::size_t most_programs = 8;

  /// A recorded step, and what it is good for.
  struct kept_program {
    step_shapes shapes;
    bool whole;  // of the model, or behind its frozen layers
    bool scores;
    std::vector<metric> metrics;
    double border;
    std::shared_ptr<const step_program<B>> made;
  };

  // `net` is the model, or what of it comes behind its frozen layers.
  template <class Net>
  void step(Net& net, const batch& b, running_scores<B>* sums) {
    const model_access::training alone(net_->access());
    const B& device = net.device();
    require_same_parameters();
    require_targets<Loss>(b.targets);
    if (sums != nullptr) {
      require_classes<Loss>(sums->metrics(), b);
    }
    const targets<B> t = targets_of(device, b, net.output_shape());
    tensor x = device.from_host(std::span<const float>(b.inputs), b.input_shape);
    if constexpr (placing_backend<B>) {
      run_program(net, std::move(x), t, sums);
    } else {
      run_at_once(net, std::move(x), t, sums);
    }
    ++step_;
  }

  /// The step as a program, recorded for the first batch of this shape.
  template <class Net>
  void run_program(const Net& net, tensor x, const targets<B>& t, running_scores<B>* sums) {
    const tensor& wanted = t.classes ? t.classes : t.values;
    const step_shapes shapes{x.shape(), spec_of(wanted), net_->depth_first()};
    sums_.resize(sums == nullptr ? 0 : 1 + sums->metrics().size());
    program_for(net, shapes, sums)
        .run(std::move(x), wanted, key_of_step(), numbers_of(optimizer_, net.device(), step_),
             net_->parameters(), memory_, room_, sums_);
    if (sums != nullptr) {
      sums->add_sums(shapes.inputs[0], sums_);
    }
  }

  [[nodiscard]] tensor key_of_step() const {
    const auto words =
        step_key{.seed = options_.seed, .step = static_cast<std::uint32_t>(step_)}.to_words();
    return net_->device().from_host(std::span<const std::int32_t>(words), {words.size()});
  }

  template <class Net>
  [[nodiscard]] const step_program<B>& program_for(const Net& net, const step_shapes& shapes,
                                                   const running_scores<B>* sums) {
    const bool whole = &net == static_cast<const void*>(net_);
    const auto fits = [&](const kept_program& known) {
      return known.shapes == shapes && known.whole == whole && known.scores == (sums != nullptr) &&
             (sums == nullptr ||
              (known.metrics == sums->metrics() && known.border == sums->border()));
    };
    const auto known = std::find_if(programs_.begin(), programs_.end(), fits);
    if (known != programs_.end()) {
      return *known->made;
    }
    if (programs_.size() == most_programs) {
      programs_.erase(programs_.begin());
    }
    programs_.push_back({shapes, whole, sums != nullptr,
                         sums == nullptr ? std::vector<metric>() : sums->metrics(),
                         sums == nullptr ? 0 : sums->border(),
                         std::make_shared<const step_program<B>>(
                             net.device(), shapes, net_->parameters(), memory_,
                             [&](auto& s, const auto& x) { return net.describe(s, x); }, loss_,
                             optimizer_, options_.clipping, sums)});
    return *programs_.back().made;
  }

  /// The same step on a backend that only runs at once.
  template <class Net>
  void run_at_once(const Net& net, tensor x, const targets<B>& t, running_scores<B>* sums) {
    tape<B> record(net.device());
    const auto [y, losses] = take_step<B>(
        record, record.constant(std::move(x)), t, key_of_step(),
        numbers_of(optimizer_, net.device(), step_), net_->parameters(), memory_,
        [&](auto& s, const auto& samples) { return net.describe(s, samples); }, loss_, optimizer_,
        options_.clipping);
    if (sums != nullptr) {
      sums->add(losses, y, t);
    }
  }

  /// Throws where the model has been given another one's parameters, or its own were moved away.
  void require_same_parameters() const {
    const parameter_list<B>& parameters = net_->parameters();
    bool unchanged = parameters.size() == memory_.size();
    for (std::size_t i = 0; unchanged && i < memory_.size(); ++i) {
      unchanged = memory_[i].empty() || memory_[i][0].shape() == parameters[i].spec.shape;
    }
    require<value_error>(unchanged,
                         "trainer: the model's parameters are no longer those that the trainer was "
                         "made for; make a new trainer after assigning or moving a model");
  }

  template <class Train, class Validation>
  history run(const Train& train, const fit_options& options, const Validation* validation) {
    require_same_parameters();
    if constexpr (!detail::is_frozen_outputs<Train>) {
      require_fitting("fit", *net_, train);
    }
    require<value_error>(options.batch_size > 0, "fit: expected a batch size of at least 1");
    history result;
    result.metrics = options.metrics.value_or(default_metrics<Train>());
    const interrupt_guard interrupt;
    std::optional<progress> shown;
    if (options.progress != nullptr) {
      shown.emplace(*options.progress, is_terminal(*options.progress), options.epochs);
    }
    session all{options, interrupt, shown, result};
    if constexpr (Model::frozen_layers() > 0) {
      run_behind_frozen_layers(train, validation, all);
    } else {
      run_epochs(*net_, train, all, scores_of(*net_, validation));
    }
    if (result.interrupted && shown) {
      shown->note("interrupted; stopped after step " + std::to_string(step_));
    }
    return result;
  }

  /// What one call of fit hands down.
  struct session {
    const fit_options& options;
    const interrupt_guard& interrupt;
    std::optional<progress>& shown;
    history& result;
  };

  template <class Net, class Validation>
  [[nodiscard]] validate_function scores_of(Net& net, const Validation* validation) {
    return [this, &net, validation](const std::vector<metric>& metrics) {
      return validation == nullptr
                 ? std::optional<scores>()
                 : std::optional<scores>(evaluate(net, *validation, loss_, {.metrics = metrics}));
    };
  }

  template <class Train, class Validation>
  void run_behind_frozen_layers(const Train& train, const Validation* validation, session& all) {
    const auto start = std::chrono::steady_clock::now();
    const frozen_output_options& how = all.options.frozen;
    const auto kept = [&](const auto& data, const char* what) {
      return detail::run_frozen_layers(*net_, data, what, how, all.interrupt, all.shown);
    };
    trained_part<Model> rest(*net_);
    using kept_train = decltype(kept(train, ""));
    using kept_validation = decltype(kept(*validation, ""));
    const bool keep_train = detail::is_frozen_outputs<Train> || (how.keep && !varies(train));
    const bool keep_validation = validation != nullptr && (detail::is_frozen_outputs<Validation> ||
                                                           (how.keep && !varies(*validation)));
    all.result.frozen_layers =
        keep_train  ? "the outputs of the frozen layers were computed once and kept"
        : !how.keep ? "the frozen layers run in every step, as the options ask"
                    : "the frozen layers run in every step, as the training samples vary from "
                      "epoch to epoch (they are augmented)";
    if (!keep_train && all.shown) {
      all.shown->note(all.result.frozen_layers);
    }
    const kept_train training = keep_train ? kept(train, "training") : kept_train();
    const kept_validation validating = keep_validation && !all.interrupt.interrupted()
                                           ? kept(*validation, "validation")
                                           : kept_validation();
    all.result.frozen_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    all.result.interrupted = all.interrupt.interrupted();
    const validate_function validate =
        validating ? scores_of(rest, &*validating) : scores_of(*net_, validation);
    if (training) {
      run_epochs(rest, *training, all, validate);
    } else if constexpr (!detail::is_frozen_outputs<Train>) {
      run_epochs(*net_, train, all, validate);
    }
  }

  template <class Net, class Train>
  void run_epochs(Net& net, const Train& train, session& all, const validate_function& validate) {
    const auto& [options, interrupt, shown, result] = all;
    running_scores<B> sums(net.device(), result.metrics, class_border<Loss>(net));
    std::vector<std::uint32_t> order(train.size());
    batch_loader<Train> loader(train, options.batch_size);
    for (std::size_t epoch = 1; epoch <= options.epochs && !result.interrupted; ++epoch) {
      std::iota(order.begin(), order.end(), 0U);
      if (options.shuffle) {
        shuffle(std::span(order), {.seed = options_.seed,
                                   .stream = shuffle_stream,
                                   .step = static_cast<std::uint32_t>(epochs_)});
      }
      epoch_record record = train_epoch(net, loader, order, sums, all, epoch);
      result.interrupted = interrupt.interrupted();
      if (!result.interrupted) {
        record.validation = validate(result.metrics);
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

  template <class Net, class Loader>
  epoch_record train_epoch(Net& net, Loader& loader, const std::vector<std::uint32_t>& order,
                           running_scores<B>& sums, session& all, std::size_t epoch) {
    const auto& [options, interrupt, shown, result] = all;
    const auto start = std::chrono::steady_clock::now();
    if (shown) {
      shown->start_epoch(epoch, order.size());
    }
    sums.reset();
    std::size_t done = 0;
    loader.start(order, epochs_++);
    while (const batch* b = loader.next()) {
      step(net, *b, &sums);
      done += b->size;
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
    record.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    record.samples_per_second = static_cast<double>(done) / record.seconds;
    record.learning_rate = optimizer_.learning_rate(step_ == 0 ? 0 : step_ - 1);
    return record;
  }

  Model* net_;
  Loss loss_;
  Optimizer optimizer_;
  trainer_options options_;
  slot_lists<B> memory_;  // the optimizer's slots, one list per parameter
  std::vector<kept_program> programs_;
  std::vector<tensor*> room_;  // for a step's inputs
  std::vector<tensor> sums_;   // that the last step gave
  std::size_t step_ = 0;
  std::size_t epochs_ = 0;  // begun so far, in all calls of fit
};

}  // namespace glia
