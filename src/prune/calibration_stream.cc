#include "prune/calibration_stream.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/ordered_sums.h"
#include "base/team.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/gather.h"
#include "model/runner.h"
#include "model/token_ids.h"
#include "prune/check_finite.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

std::vector<int32_t> JoinSamples(const Samples& samples, int vocab_size) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].empty() || samples[i].size() != samples[0].size()) {
      throw Error(
          ErrorKind::kUsage, "calibration samples must have one length of at least one token",
          {.tensor = "sample " + std::to_string(i), .actual = std::to_string(samples[i].size()) + " tokens"});
    }
    for (const int32_t id : samples[i]) {
      if (!IsTokenId(id, vocab_size))
        ThrowBadTokenId(id, vocab_size, {.tensor = "sample " + std::to_string(i)});
    }
    ids.insert(ids.end(), samples[i].begin(), samples[i].end());
  }
  return ids;
}

}  // namespace

CalibrationStream::CalibrationStream(const Model& model, const Samples& samples, bool keep_conv_bias,
                                     int64_t max_cache_bytes)
    : model_(model), keep_conv_bias_(keep_conv_bias), max_cache_bytes_(max_cache_bytes) {
  const std::vector<int32_t> ids = JoinSamples(samples, model.config().vocab_size);
  const auto all_rows = static_cast<int64_t>(ids.size());
  num_samples_ = static_cast<int64_t>(samples.size());
  length_ = samples.empty() ? 0 : static_cast<int64_t>(samples[0].size());
  // The same cut whatever fits into the cache and whoever takes part, so that neither changes a bit.
  const int64_t together = std::max<int64_t>(1, kPassRows / std::max<int64_t>(1, length_));
  const int64_t step = together * length_;
  const PieceRange mine = ShareOf((num_samples_ + together - 1) / together);
  first_row_ = std::min(all_rows, mine.begin * step);
  const int64_t rows = std::min(all_rows, mine.end * step) - first_row_;
  memory_ = Buffer(rows * model.config().d_model);
  residual_ = View(memory_.data(), rows, model.config().d_model);
  if (rows == 0) return;
  model.Embed(std::span(ids).subspan(static_cast<size_t>(first_row_), static_cast<size_t>(rows)), residual_);
  if (model.reads_embeddings()) CopyRows(residual_, Grow(embedded_, rows, model.config().d_model));
  for (int64_t number = mine.begin; number < mine.end; ++number) {
    const int64_t begin = number * step - first_row_;
    chunks_.push_back({begin, std::min(step, rows - begin), {number, number * together}, {}, false});
  }
}

const Mixer& CalibrationStream::next_mixer() const {
  GHOST_CHECK(!done());
  return model_.mixer(next_ordinal_);
}

template <class Body>
void CalibrationStream::ForEachChunk(Body body) {
  for (Chunk& chunk : chunks_) {
    const SequenceBatch sequences = EqualSequences(chunk.rows, length_);
    Pass pass{.sequences = sequences};
    if (model_.reads_embeddings())
      pass.embedded =
          ConstView(embedded_.data(), residual_.rows, residual_.cols).Rows(chunk.begin, chunk.rows);
    body(chunk, pass);
  }
}

void CalibrationStream::RunStepsBefore(int number) {
  for (; next_step_ < number; ++next_step_) {
    const Step& step = model_.steps()[static_cast<size_t>(next_step_)];
    ForEachChunk([&](const Chunk& chunk, const Pass& pass) {
      ForwardStep(step, residual_.Rows(chunk.begin, chunk.rows), pass, workspace_);
    });
  }
}

void CalibrationStream::Prepare() {
  if (prepared_) return;
  prepared_ = true;
  const Step& step = next_step();
  RunStepsBefore(step.number);
  input_ = residual_;
  if (!step.input) return;
  const View input = Grow(input_memory_, residual_.rows, residual_.cols);
  ForEachChunk([&](const Chunk& chunk, const Pass& pass) {
    CopyRows(StepInput(step, residual_.Rows(chunk.begin, chunk.rows), pass, workspace_),
             input.Rows(chunk.begin, chunk.rows));
  });
  input_ = input;
}

ConstView CalibrationStream::Normed(const Chunk& chunk) {
  return StepNorm(next_step(), input_.Rows(chunk.begin, chunk.rows), workspace_);
}

void CalibrationStream::Observe(LayerStatistic& statistic) {
  const Mixer& mixer = next_mixer();
  Prepare();
  int64_t room = max_cache_bytes_;
  for (Chunk& chunk : chunks_) {
    const ConstView normed = Normed(chunk);
    const MixerChunk observed{.mixer = mixer, .normed = normed, .place = chunk.place};
    if (!statistic.needs_scan()) {
      statistic.Add(observed);
      continue;
    }
    room -= MixerInputBytes(mixer.dims, chunk.rows);
    chunk.cached = room >= 0;
    passes_.ObserveScan(observed, length_, chunk.cached ? chunk.inputs : uncached_, statistic);
  }
  statistic.Combine();
}

void CalibrationStream::Advance(const LayerEdit* edit) {
  const Mixer& dense = next_mixer();
  const Step& step = next_step();
  Prepare();
  const Mixer mixer = edit ? EditedMixer(dense, *edit) : dense;
  const LayerMask mask = edit ? edit->mask : KeepAllInputs(dense.dims);
  // New weights of B and C give another B' and C' than those that were observed.
  const bool reusable = !edit || !edit->replaces_weights();
  ForEachChunk([&](Chunk& chunk, const Pass& pass) {
    const bool cached = chunk.cached && reusable;
    MixerInputs& inputs = cached ? chunk.inputs : uncached_;
    const ConstView normed = Normed(chunk);
    const View hidden = residual_.Rows(chunk.begin, chunk.rows);
    for (const auto& part : step.parts) {
      if (part.get() != step.mixer) {
        part->Fill(normed, pass, workspace_);
        part->AddOutput(hidden, workspace_);
        continue;
      }
      if (!cached) passes_.FrontHalf(mixer, normed, length_, inputs);
      passes_.BackHalf(mixer, inputs, mask, keep_conv_bias_, length_, normed, hidden);
    }
    chunk.cached = false;
  });
  CheckFinite({residual_.data, static_cast<size_t>(residual_.rows * residual_.cols)}, step.layer, "outputs");
  ++next_ordinal_;
  next_step_ = step.number + 1;
  prepared_ = false;
}

double CalibrationStream::MeanSquare() const {
  OrderedSums<double> sums(1);
  for (const Chunk& chunk : chunks_) {
    double sum = 0.0;
    for (int64_t t = chunk.begin; t < chunk.begin + chunk.rows; ++t) {
      const float* row = residual_.Row(t);
      for (int64_t m = 0; m < residual_.cols; ++m) sum += double{row[m]} * row[m];
    }
    sums.Add(chunk.place.number, std::span<const double>(&sum, 1));
  }
  double total = 0.0;
  sums.Combine({&total, 1});
  return all_rows() == 0 ? 0.0 : total / static_cast<double>(all_rows());
}

ConstView CalibrationStream::Finish() {
  while (!done()) Advance(nullptr);
  RunStepsBefore(static_cast<int>(model_.steps().size()));
  const View final = Grow(final_, residual_.rows, residual_.cols);
  RmsNorm(residual_, model_.final_norm().data(), model_.config().norm_eps, final);  // (T, M)
  return final;
}

void CalibrationStream::Restore(int next_ordinal, std::span<const float> residual) {
  GHOST_CHECK(next_ordinal >= 0 && next_ordinal <= num_mixers());
  GHOST_CHECK(static_cast<int64_t>(residual.size()) == residual_.rows * residual_.cols);
  std::ranges::copy(residual, residual_.data);
  next_ordinal_ = next_ordinal;
  next_step_ = next_ordinal == 0 ? 0 : model_.StepOfMixer(next_ordinal - 1).number + 1;
  prepared_ = false;
}

}  // namespace ghost
