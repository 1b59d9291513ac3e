// SPDX-License-Identifier: Apache-2.0
// Trainer: sums over whole steps, resumption to the bit, killed processes, best parameters, ranks.
#include "hanzo/train/trainer.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "tests/catch.hpp"
#include "tests/random.hpp"
#include "tests/temp_dir.hpp"
#include "tests/train/toy.hpp"

using namespace hz;
using namespace hz::test;
using namespace hz::train;

namespace {

TrainOptions small(std::int64_t micro = 1, std::int64_t accumulate = 4) {
  TrainOptions o;
  o.lr = 0.05;
  o.epochs = 2;
  o.micro_batch = micro;
  o.accumulate = accumulate;
  o.seed = 7;
  o.max_tokens = 16;
  o.checkpoint_every = 2;
  o.threads = 1;
  return o;
}

struct Ran {
  Tensor w;
  TrainResult result;
};
Ran run(const std::filesystem::path& folder, const TrainOptions& o, bool resume = false, bool dropout = true,
        const std::vector<Example>& eval = {}) {
  static const auto examples = toy_examples(23);
  Toy toy(dropout);
  Trainer trainer(toy, examples, eval, o, folder);
  const TrainResult r = trainer.run(resume);
  return {toy.w().clone(), r};
}

double loss_after(std::int64_t micro, std::int64_t accumulate) {
  const TempDir dir;
  TrainOptions o = small(micro, accumulate);
  o.steps = 1;
  return run(dir.path(), o, false, false).result.first_loss;
}

}  // namespace

TEST_CASE("accumulation is normalised by the trained tokens of the whole step", "[train]") {
  const TempDir dir, other, third;
  std::vector<Tensor> w;
  for (const auto& [micro, accumulate, d] : {std::tuple{1, 8, &dir}, std::tuple{8, 1, &other}, std::tuple{2, 4, &third}})
    w.push_back(run(d->path(), small(micro, accumulate), false, false).w);
  for (std::int64_t i = 0; i < Toy::kVocab; ++i)
    for (const Tensor& other_w : w) CHECK(other_w.data<float>()[i] == Approx(w[0].data<float>()[i]).margin(2e-6));
  CHECK(loss_after(1, 8) == Approx(loss_after(8, 1)).epsilon(1e-6));

  // Rows of 3 and of 300 trained tokens with losses a and b: (3 a + 300 b) / 303, not (a + b) / 2.
  std::vector<Example> uneven(2);
  for (const auto& [row, n, id] : {std::tuple{0, 4, 1}, std::tuple{1, 301, 2}}) {
    uneven[static_cast<std::size_t>(row)].ids.assign(static_cast<std::size_t>(n), id);
    uneven[static_cast<std::size_t>(row)].labels.assign(static_cast<std::size_t>(n), id);
    uneven[static_cast<std::size_t>(row)].labels[0] = kIgnore;
  }
  Toy toy;
  toy.w().data<float>()[1] = 2;
  double parts[2], z = 0;
  for (std::int64_t i = 0; i < Toy::kVocab; ++i) z += std::exp(static_cast<double>(toy.w().data<float>()[i]));
  for (int i = 0; i < 2; ++i) parts[i] = std::log(z) - static_cast<double>(toy.w().data<float>()[i + 1]);
  const TempDir last;
  TrainOptions o = small(1, 2);
  o.steps = 1;
  Trainer trainer(toy, uneven, {}, o, last.path());
  CHECK(trainer.run(false).first_loss == Approx((3 * parts[0] + 300 * parts[1]) / 303).epsilon(1e-6));
}

TEST_CASE("the same seed gives the same bits, another seed others, whatever the threads", "[train]") {
  const TempDir a, b, c, d;
  const Tensor w = run(a.path(), small()).w;
  CHECK(same_bits(w, run(b.path(), small()).w));
  TrainOptions o = small();
  o.threads = 3;
  CHECK(same_bits(w, run(d.path(), o).w));
  o.seed = 8;
  CHECK_FALSE(same_bits(w, run(c.path(), o).w));
}

TEST_CASE("a run that is stopped anywhere and resumed ends in the same bits, amid an accumulation and with dropout too", "[train]") {
  const auto examples = toy_examples(23), eval = toy_examples(5, 2);
  const TempDir whole_dir;
  Toy whole(true);
  Trainer(whole, examples, eval, small(), whole_dir.path()).run(false);
  for (int stop_at = 1; stop_at < 60; stop_at += 3) {
    const TempDir dir;
    int calls = 0, runs = 0;
    Tensor w;
    for (bool ended = false; !ended; ++runs) {  // stopped again and again
      Toy toy(true);
      std::stop_source stop;
      calls = 0;
      toy.before = [&] {
        if (++calls == stop_at) stop.request_stop();
      };
      Trainer trainer(toy, examples, eval, small(), dir.path());
      ended = !trainer.run(true, {}, stop.get_token()).interrupted;
      w = toy.w().clone();
      REQUIRE(runs < 200);
      if (stop_at == 1 && runs > 2) break;  // stopped before anything is done, for ever
    }
    INFO("stopped at call " << stop_at << ", " << runs << " runs");
    if (stop_at > 1) CHECK(same_bits(w, whole.w()));
  }
}

TEST_CASE("a stop on the way back ends the run within a part of it, and what was not added up is done again", "[train]") {
  const auto examples = toy_examples(23);
  const TempDir whole_dir, dir;
  Toy whole(true);
  Trainer(whole, examples, {}, small(), whole_dir.path()).run(false);
  int runs = 0;
  Tensor w;
  for (bool ended = false; !ended; ++runs) {
    REQUIRE(runs < 100);
    Toy toy(true);
    std::stop_source stop;
    std::atomic<int> calls{0}, after{0};
    toy.back = [&](std::int64_t) {
      if (stop.stop_requested()) ++after;
      if (++calls == 43) stop.request_stop();  // amid the sixth micro-batch of each run
    };
    Trainer trainer(toy, examples, {}, small(), dir.path());
    const TrainResult r = trainer.run(true, {}, stop.get_token());
    ended = !r.interrupted;
    if (!ended) {
      CHECK(after <= 2);  // parts that had begun
      const auto last = Checkpoints(dir.path(), 2).latest();
      REQUIRE(last);
      CHECK(last->state.step * 4 + last->state.micro >= 5);
    }
    w = toy.w().clone();
  }
  CHECK(runs > 5);
  CHECK(same_bits(w, whole.w()));
}

TEST_CASE("kill -9 at any instant loses at most the steps since the last checkpoint, and nothing of the result", "[train]") {
  const auto examples = toy_examples(23), eval = toy_examples(5, 2);
  const TempDir whole_dir, dir;
  Toy whole(true);
  TrainOptions o = small();
  o.epochs = 12;
  Trainer(whole, examples, eval, o, whole_dir.path()).run(false);
  int kills = 0;
  for (std::uint64_t i = 0; kills < 60; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Toy toy(true);
      toy.before = [] { ::usleep(100); };
      Trainer trainer(toy, examples, eval, o, dir.path());
      trainer.run(true);
      ::_exit(0);
    }
    ::usleep(2000 + philox(5, 1, i)[0] % 25000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) ++kills;
    else REQUIRE(WEXITSTATUS(status) == 0);
    if (!WIFSIGNALED(status)) {  // it came to its end: compare, and begin anew
      const auto last = Checkpoints(dir.path(), 2).latest();
      REQUIRE(last);
      CHECK(last->state.step == 72);
      CHECK(same_bits(*last->find("optimizer.w.master"), whole.w()));
      std::filesystem::remove_all(dir.path() / "checkpoints");
    }
  }
  Toy toy(true);
  Trainer(toy, examples, eval, o, dir.path()).run(true);
  CHECK(same_bits(toy.w(), whole.w()));
}

TEST_CASE("the best parameters are kept: a rate that ruins the model does not ruin what is returned", "[train]") {
  const TempDir dir;
  const auto examples = toy_examples(23), eval = toy_examples(5, 1);
  TrainOptions o = small();
  o.lr = 3;
  o.schedule = optim::ScheduleKind::linear;
  o.warmup = 30;
  o.steps = 60;
  o.eval_every = 1;
  o.keep_best = true;
  Toy toy(false);
  Trainer trainer(toy, examples, eval, o, dir.path());
  const TrainResult r = trainer.run(false);
  REQUIRE(r.best_eval);
  CHECK(*r.best_eval < *r.last_eval);
  CHECK(Trainer::evaluate(toy, eval, 16) == Approx(*r.best_eval).epsilon(1e-9));

  o.early_stop = 3;
  const TempDir second;
  Toy again(false);
  const TrainResult early = Trainer(again, examples, eval, o, second.path()).run(false);
  CHECK(early.early);
  CHECK(early.steps == early.best_step + 3);
  CHECK(Trainer::evaluate(again, eval, 16) == Approx(*early.best_eval).epsilon(1e-9));
}

TEST_CASE("old checkpoints go; what a killed process left half done is swept away", "[train]") {
  const TempDir dir;
  run(dir.path(), small());
  std::vector<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(dir.path() / "checkpoints")) names.push_back(e.path().filename().string());
  CHECK(names.size() == 2);
  std::filesystem::create_directory(dir.path() / "checkpoints/.hanzo-new-1-step-000099");
  const auto last = Checkpoints(dir.path(), 2).latest();
  REQUIRE(last);
  CHECK(last->state.step == 12);
  CHECK_FALSE(std::filesystem::exists(dir.path() / "checkpoints/.hanzo-new-1-step-000099"));
  std::ofstream(dir.path() / "checkpoints/step-000012/state.json") << "{}";
  CHECK_THROWS_AS(Checkpoints(dir.path(), 2).latest(), Error);
}

namespace {

// Ranks as threads of this process.
struct Meeting {
  explicit Meeting(int n) : gate(n), nodes(static_cast<std::size_t>(n)), lists(static_cast<std::size_t>(n)) {}
  std::barrier<> gate;
  std::vector<std::vector<Tensor>> nodes;
  std::vector<std::vector<double>> lists;
};
class ThreadPeers : public Peers {
 public:
  ThreadPeers(Meeting& m, int rank) : m_(m), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(m_.nodes.size()); }
  void sum(std::vector<Tensor>& g) override {
    for (Tensor& t : g) t = t.defined() ? t.clone() : t;
    m_.nodes[static_cast<std::size_t>(rank_)] = g;
    m_.gate.arrive_and_wait();
    if (rank_ == 0)
      for (std::size_t step = 1; step < m_.nodes.size(); step *= 2)
        for (std::size_t i = 0; i + step < m_.nodes.size(); i += 2 * step) GradTree::add_into(m_.nodes[i], m_.nodes[i + step]);
    m_.gate.arrive_and_wait();
    g.clear();
    for (const Tensor& t : m_.nodes[0]) g.push_back(t.defined() ? t.clone() : t);
    m_.gate.arrive_and_wait();
  }
  bool any(bool mine) override {
    const auto all = gather({mine ? 1.0 : 0.0});
    return std::find(all.begin(), all.end(), 1.0) != all.end();
  }
  std::vector<double> gather(std::vector<double> mine) override {
    m_.lists[static_cast<std::size_t>(rank_)] = std::move(mine);
    m_.gate.arrive_and_wait();
    std::vector<double> all;
    for (const auto& l : m_.lists) all.insert(all.end(), l.begin(), l.end());
    m_.gate.arrive_and_wait();
    return all;
  }

 private:
  Meeting& m_;
  int rank_;
};

}  // namespace

TEST_CASE("ranks stop together, amid a step and an evaluation; one process and several resume each other's runs", "[train]") {
  static const auto examples = toy_examples(23), eval = toy_examples(5, 1);
  TrainOptions o = small(1, 6);
  o.eval_every = 1;
  const TempDir whole;
  const Tensor want = run(whole.path(), o, false, true, eval).w;
  const TempDir out;
  int runs = 0;
  std::atomic<int> calls{0};
  // One run; a stop comes to `rank` alone, at a loss that it computes after `after` ones of any rank.
  const auto go = [&](int ranks, int rank, int after) {
    Meeting meeting(ranks);
    std::atomic<int> interrupted{0};
    std::vector<Tensor> got(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    calls = 0;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        Toy toy(true);
        std::stop_source stop;
        toy.before = [&, r] {
          if (++calls > after && r == rank) stop.request_stop();
        };
        ThreadPeers peers(meeting, r);
        const auto result = Trainer(toy, examples, eval, o, out.path(), ranks == 1 ? nullptr : &peers).run(runs > 0, {}, stop.get_token());
        interrupted += result.interrupted;
        got[static_cast<std::size_t>(r)] = toy.w().clone();
      });
    for (auto& t : threads) t.join();
    CHECK((interrupted == 0 || interrupted == ranks));
    ++runs;
    if (interrupted == 0)
      for (const Tensor& w : got) CHECK(same_bits(w, want));
    return interrupted == 0;
  };
  bool amid = false;
  for (int i = 0; i < 30; ++i) {
    const int ranks = 1 + i % 3;
    // The first: five losses of the evaluation, two of a step. The others depend on how the ranks' threads meet.
    if (go(ranks, i % ranks, i == 0 ? 7 : 2 + 3 * (i % 7))) break;
    const auto last = Checkpoints(out.path(), 2).latest();
    REQUIRE(last);
    amid = amid || last->state.micro > 0;  // left by one process, taken up by two
  }
  CHECK(amid);
  CHECK(go(2, -1, 0));
}

TEST_CASE("one, two, three and four ranks train the same bits", "[train]") {
  const auto examples = toy_examples(23);
  for (const std::int64_t accumulate : {1, 4, 6, 7}) {
    const TempDir dir;
    const Tensor want = run(dir.path(), small(1, accumulate)).w;
    for (const int ranks : {2, 3, 4}) {
      Meeting meeting(ranks);
      std::vector<Tensor> got(static_cast<std::size_t>(ranks));
      std::vector<std::thread> threads;
      const TempDir out;
      for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
          Toy toy(true);
          ThreadPeers peers(meeting, r);
          Trainer(toy, examples, {}, small(1, accumulate), out.path(), &peers).run(false);
          got[static_cast<std::size_t>(r)] = toy.w().clone();
        });
      for (auto& t : threads) t.join();
      INFO(ranks << " ranks, accumulation " << accumulate);
      for (const Tensor& w : got) CHECK(same_bits(w, want));
    }
  }
}
