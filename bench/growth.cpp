// Measures how the cost of training and decoding grows with depth, sentence length, beam, batch,
// width and threads, and what each scheme costs, beside the law that is expected of it.
//
//   growth -o DIRECTORY                      writes growth.md and a plot of each axis
//   growth --axes depth,width --seconds 1
// Every point runs in a process of its own, which also gives its peak memory. A training point is
// one update, a decoding point one translated sentence. The law is the multiply-adds of the point
// divided by the threads, scaled to the first point; "over" is how much more the point costs.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "decode/translator.h"
#include "random_model.h"
#include "report/report.h"
#include "schemes/registry.h"
#include "train/learner.h"
#include "turns.h"

namespace residual {
namespace {

// One measurement. Sentences have `length` tokens on both sides, </s> included.
struct Point {
  int64_t depth = 6, width = 128, length = 25;
  int beam = 4, threads = 1;
  int64_t tokens = 2000;  // of a training batch, on each side
  int sentences = 16;     // of a decoding batch
  std::string scheme = "resi-dual";

  model::Config model() const {
    model::Config c;
    c.width = width;
    c.inner = 4 * width;
    c.heads = width / 32;
    c.encoder_layers = c.decoder_layers = depth;
    c.source_vocabulary = c.target_vocabulary = 4000;
    c.residual.name = scheme;
    return c;
  }
};

struct Cost {
  double seconds = 0, megabytes = 0;
  double spread = 0;
  bool disturbed = false;
};

data::Batch batch_of(const Point& p) {
  data::Batch batch{.source_offsets = {0}, .target_offsets = {0}};
  const Random random(1);
  for (int64_t s = 0; s < std::max<int64_t>(1, p.tokens / p.length); ++s) {
    for (int64_t i = 0; i + 1 < p.length; ++i) {
      const auto at = static_cast<uint64_t>(s * p.length + i);
      batch.source.push_back(4 + static_cast<int32_t>(random.below(2 * at, 3996)));
      batch.target.push_back(4 + static_cast<int32_t>(random.below(2 * at + 1, 3996)));
    }
    batch.source.push_back(2);
    batch.target.push_back(2);
    batch.source_offsets.push_back(static_cast<int32_t>(batch.source.size()));
    batch.target_offsets.push_back(static_cast<int32_t>(batch.target.size()));
    batch.pairs.push_back(s);
  }
  return batch;
}

// Repeats work for some seconds, at least 3 times.
bench::Series repeat(const Point& p, double seconds, const std::function<void()>& work) {
  bench::Series series{.threads = p.threads};
  double spent = 0;
  while (spent < seconds || series.samples.size() < 3) {
    series.samples.push_back(bench::measure(work));
    spent += series.samples.back().wall;
  }
  return series;
}

bench::Series train(const Point& p, double seconds) {
  run::TrainConfig c;
  c.model = p.model();
  c.dropout = {.residual = 0.3, .attention = 0.1, .activation = 0.1};
  c.train.workers = p.threads;
  set_thread_count(p.threads);
  train::Learner learner(run::resolve(c));
  const data::Batch batch = batch_of(p);
  int64_t number = 0;
  const auto update = [&] {
    learner.update(std::span(&batch, 1), {.number = ++number, .learning_rate = 1e-5});
  };
  update();
  return repeat(p, seconds, update);
}

bench::Series decode(const Point& p, double seconds, const fs::path& directory) {
  decode::TranslatorOptions options;
  options.pieces = true;
  options.search.beam = p.beam;
  options.search.min_length = static_cast<int>(p.length) - 1;
  options.search.max_length_factor = 0;
  options.search.max_length_offset = static_cast<int>(p.length) - 1;
  options.crew.threads = p.threads;
  options.crew.batch_sentences = p.sentences;
  decode::Translator translator({directory}, options);
  std::vector<std::string> lines;
  for (int i = 0; i < p.sentences * p.threads; ++i) {
    lines.push_back(bench::random_line(i, static_cast<int>(p.length), 3000));
  }
  const auto translate = [&] { translator.translate(lines); };
  translate();
  bench::Series series = repeat(p, seconds, translate);
  for (bench::Sample& s : series.samples) {
    s.wall /= static_cast<double>(lines.size());
    s.cpu /= static_cast<double>(lines.size());
  }
  return series;
}

// Runs the work in a child and returns what it cost.
Cost apart(const std::function<bench::Series()>& work) {
  int ends[2];
  require(pipe(ends) == 0, "cannot open a pipe");
  const pid_t child = fork();
  require(child >= 0, "cannot fork");
  if (child == 0) {
    const bench::Series series = work();
    const Cost cost{series.wall(), 0, bench::spread(series.walls()),
                    2 * series.disturbances() > static_cast<int64_t>(series.samples.size())};
    _exit(write(ends[1], &cost, sizeof(cost)) == sizeof(cost) ? 0 : 1);
  }
  close(ends[1]);
  Cost cost;
  const bool complete = read(ends[0], &cost, sizeof(cost)) == sizeof(cost);
  close(ends[0]);
  struct rusage usage {};
  int status = 0;
  wait4(child, &status, 0, &usage);
  require(complete && status == 0, "a measurement failed with status {}", status);
  cost.megabytes = static_cast<double>(usage.ru_maxrss) / 1000;
  return cost;
}

// Multiply-adds of one row through a layer without attention's own products, and of attention.
double layer(const Point& p, bool decoder) {
  const auto d = static_cast<double>(p.width), inner = 4 * d;
  return (decoder ? 6 : 4) * d * d + 2 * d * inner;
}
double attention(const Point& p, double keys) { return 2 * static_cast<double>(p.width) * keys; }

// The expected time of a training update and of a decoded sentence, in any unit.
double train_law(const Point& p) {
  const auto n = static_cast<double>(p.depth), length = static_cast<double>(p.length);
  // Cross-attention's keys and values are computed from source rows. The causal half is computed.
  const double row =
      n * (layer(p, false) + layer(p, true) + 2 * p.width * p.width + 3 * attention(p, length)) +
      static_cast<double>(p.width) * 4000;
  const double rows = std::max(1.0, std::floor(static_cast<double>(p.tokens) / length)) * length;
  return row * rows / p.threads;
}
double decode_law(const Point& p) {
  const auto n = static_cast<double>(p.depth), length = static_cast<double>(p.length);
  const auto d = static_cast<double>(p.width);
  const double source = length * n * (layer(p, false) + 2 * d * d + attention(p, length));
  const double step = n * (layer(p, true) + attention(p, length) + attention(p, length / 2));
  return (source + length * p.beam * (step + d * 4000)) / p.threads;
}

struct Axis {
  std::string name, label;
  std::vector<double> values;
  std::function<void(Point&, double)> set;
  bool train = true, decode = true;
};

std::vector<Axis> all_axes() {
  return {
      {"depth",
       "encoder and decoder layers, each",
       {6, 12, 18, 24, 36},
       [](Point& p, double v) { p.depth = static_cast<int64_t>(v); }},
      {"length",
       "tokens of a sentence",
       {10, 25, 50, 100, 200, 350, 500},
       [](Point& p, double v) { p.length = static_cast<int64_t>(v); }},
      {"beam",
       "beam",
       {1, 2, 4, 8, 16},
       [](Point& p, double v) { p.beam = static_cast<int>(v); },
       false},
      {"batch",
       "training: tokens / 125; decoding: sentences",
       {1, 2, 4, 8, 16, 32, 64},
       [](Point& p, double v) {
         p.sentences = static_cast<int>(v);
         p.tokens = static_cast<int64_t>(125 * v);
       }},
      {"width",
       "width of the model",
       {64, 128, 256, 512},
       [](Point& p, double v) { p.width = static_cast<int64_t>(v); }},
      {"threads", "threads", {1, 2}, [](Point& p, double v) { p.threads = static_cast<int>(v); }}};
}

// The costs along an axis beside their law.
struct Growth {
  std::vector<double> x, law;
  std::vector<Cost> costs;

  // How much more than the law a point costs, relative to the first point.
  double over(size_t i) const { return costs[i].seconds / costs[0].seconds / (law[i] / law[0]); }
};

struct Options {
  fs::path output = "growth";
  std::vector<std::string> axes = {"depth", "length",  "beam",  "batch",
                                   "width", "threads", "scheme"};
  double seconds = 0.5;  // of each point
};

class Measurement {
 public:
  explicit Measurement(const Options& o) : options_(o) { fs::create_directories(o.output); }

  Cost trained(const Point& p) const {
    return apart([&] { return train(p, options_.seconds); });
  }
  Cost decoded(const Point& p) const {
    const fs::path directory = options_.output / "models" / key(p);
    if (!fs::exists(directory)) {
      apart([&] {
        bench::write_model(directory, p.model());
        return bench::Series{.samples = {{1, 1}}};
      });
    }
    return apart([&] { return decode(p, options_.seconds, directory); });
  }

  report::Figure run(const Axis& axis) const {
    report::Figure figure{.id = "growth-" + axis.name,
                          .title = "Time by " + axis.name + " relative to the first point",
                          .x_label = axis.label,
                          .y_label = "times the first point",
                          .log_y = true};
    fmt::print("## {}: {}\n\n", axis.name, axis.label);
    fmt::print("| {} | training, ms | over | MB | decoding, ms | over | MB |\n", axis.name);
    fmt::print("|---|---|---|---|---|---|---|\n");
    Growth train, decode;
    for (const double value : axis.values) {
      Point p;
      axis.set(p, value);
      fmt::print("| {} ", value);
      if (axis.train) add(train, value, train_law(p), trained(p));
      cells(train);
      if (axis.decode) add(decode, value, decode_law(p), decoded(p));
      cells(decode);
      fmt::print("|\n");
      std::fflush(stdout);
    }
    fmt::print("\n");
    if (axis.train) curves("training", train, 0, figure);
    if (axis.decode) curves("decoding", decode, 1, figure);
    return figure;
  }

  void run_schemes() const {
    fmt::print(
        "## scheme\n\n| scheme | training, ms | MB | decoding, ms | MB |\n|---|---|---|---|---|\n");
    for (const auto& entry : schemes::registry()) {
      Point p;
      p.scheme = entry.name;
      const Cost t = trained(p), d = decoded(p);
      fmt::print("| {} | {} | {:.0f} | {} | {:.0f} |\n", entry.name, milliseconds(t), t.megabytes,
                 milliseconds(d), d.megabytes);
      std::fflush(stdout);
    }
    fmt::print("\n");
  }

  void remove_models() const { fs::remove_all(options_.output / "models"); }

 private:
  static std::string key(const Point& p) {
    return fmt::format("{}-{}-{}/model", p.scheme, p.depth, p.width);
  }
  static void add(Growth& g, double x, double law, const Cost& cost) {
    g.x.push_back(x);
    g.law.push_back(law);
    g.costs.push_back(cost);
  }
  // A star marks a disturbed point or one whose quartiles lie further apart than a tenth.
  static std::string milliseconds(const Cost& c) {
    const bool bad = c.disturbed || c.spread > bench::kMostSpread;
    return fmt::format("{:.4g}{}", 1e3 * c.seconds, bad ? "*" : "");
  }
  static void cells(const Growth& g) {
    if (g.costs.empty()) return fmt::print("| | | ");
    const size_t last = g.costs.size() - 1;
    fmt::print("| {} | {:.2f} | {:.0f} ", milliseconds(g.costs[last]), g.over(last),
               g.costs[last].megabytes);
  }
  static void curves(const std::string& name, const Growth& g, int colour, report::Figure& to) {
    report::Series measured{.name = name, .x = g.x, .colour = colour};
    report::Series law{.name = name + ", law", .x = g.x, .dashed = true, .colour = colour};
    for (size_t i = 0; i < g.x.size(); ++i) {
      measured.y.push_back(g.costs[i].seconds / g.costs[0].seconds);
      law.y.push_back(g.law[i] / g.law[0]);
    }
    to.series.push_back(measured);
    to.series.push_back(law);
  }

  Options options_;
};

void run(const Options& o) {
  const Measurement measurement(o);
  const auto wanted = [&](const std::string& name) { return std::ranges::count(o.axes, name) > 0; };
  for (const Axis& axis : all_axes()) {
    if (!wanted(axis.name)) continue;
    const report::Figure figure = measurement.run(axis);
    write_file(o.output / (figure.id + ".svg"), report::to_svg(figure));
  }
  if (wanted("scheme")) measurement.run_schemes();
  measurement.remove_models();
}

}  // namespace
}  // namespace residual

int main(int argc, char** argv) {
  residual::keep_freed_memory();
  residual::Options options;
  CLI::App app("Measures how costs grow", "growth");
  app.add_option("-o,--output", options.output, "directory of the plots");
  app.add_option("--axes", options.axes, "depth, length, beam, batch, width, threads, scheme")
      ->delimiter(',');
  app.add_option("--seconds", options.seconds, "measuring time of each point");
  CLI11_PARSE(app, argc, argv);
  try {
    residual::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "growth: {}\n", error.what());
    return 1;
  }
}
