package dunlin.dist;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteResult;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A dist worker over routes in memory, with one frontend, the inbox shards, and a lane whose tasks a test runs. */
final class DistTier {
  static final String TENANT = "t";
  static final Publisher PUBLISHER = new Publisher(TENANT, "client");
  static final ShardId FRONTEND = ShardId.frontend("n1");
  static final ShardId HOME = ShardId.inbox(5);
  static final DistSettings LIMITS = DistSettings.defaults(Runtime.getRuntime().maxMemory());

  final AtomicReference<@Nullable InMemoryRange<RouteCommand, RouteResult>> made = new AtomicReference<>();
  final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  final Recorder frontend = new Recorder();
  final Recorder inboxes = new Recorder();

  /** Of the upper inbox shards, where these are divided. */
  final Recorder upper = new Recorder();
  final DistWorker worker =
      new DistWorker(
          (_, codec, logic) -> {
            var range = new InMemoryRange<>(codec, logic);
            made.set(range);
            return range;
          },
          List.of(),
          LIMITS,
          _ -> HOME,
          registry,
          Tracer.idle(),
          DeliveryThreads.inline());
  final ArrayDeque<Runnable> tasksOfTheLane = new ArrayDeque<>();
  final Lane lane = worker.openLane(0, tasksOfTheLane::add, LaneCredit.uncounted());

  /** A destination that records its messages. */
  static final class Recorder implements Delivery {
    record Delivered(String topic, List<ShardId> shards, @Nullable Acknowledgement acknowledgement) {}

    final List<Delivered> delivered = new ArrayList<>();
    final Map<ShardId, Integer> credit = new HashMap<>();
    ReasonCode answer = ReasonCode.SUCCESS;
    boolean answersLater;
    int closed;

    @Override
    public void close() {
      closed++;
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      var shards = new ArrayList<ShardId>();
      for (int i = 0; i < routes.size(); i++) shards.add(routes.get(i).shard());
      delivered.add(new Delivered(message.topic(), shards, acknowledgement));
      if (acknowledgement != null && !answersLater) acknowledgement.answer(answer);
    }

    void answer(int index, ReasonCode reason) {
      var acknowledgement = delivered.get(index).acknowledgement;
      if (acknowledgement == null) throw new AssertionError("no answer is expected");
      acknowledgement.answer(reason);
    }

    @Override
    public int groupCredit(Route route) {
      return credit.getOrDefault(route.shard(), 0);
    }

    int of(ShardId shard) {
      return (int) delivered.stream().filter(d -> d.shards.contains(shard)).count();
    }
  }

  static class Answer extends Acknowledgement {
    final List<ReasonCode> foretold = new ArrayList<>();
    @Nullable ReasonCode completed;
    boolean comesAgain;

    @Override
    public boolean comesAgain() {
      return comesAgain;
    }

    @Override
    public void willFail(ReasonCode reason) {
      foretold.add(reason);
    }

    @Override
    protected void complete(ReasonCode reason) {
      completed = reason;
    }
  }

  DistTier() {
    worker.attachFrontend("n1", Deliveries.of(frontend));
    worker.attachInboxShards(Deliveries.of(inboxes));
  }

  /** Inbox shards that are divided: from one number on, they are another destination. */
  DistTier(int cut) {
    worker.attachFrontend("n1", Deliveries.of(frontend));
    worker.attachInboxShards(0, cut, Deliveries.of(inboxes));
    worker.attachInboxShards(cut, Integer.MAX_VALUE, Deliveries.of(upper));
  }

  InMemoryRange<RouteCommand, RouteResult> range() {
    var range = made.get();
    if (range == null) throw new AssertionError("no range was created");
    return range;
  }

  static Route route(String filter, ShardId shard) {
    return route(filter, shard, 1, 0);
  }

  static Route route(String filter, ShardId shard, long incarnation, int handle) {
    return new Route(TENANT, TopicFilter.parse(filter).orElseThrow(), shard, incarnation, handle);
  }

  void add(Route... routes) {
    for (Route route : routes) {
      var added = worker.addRoute(route);
      range().applyAll();
      assertThat(added).isCompleted();
    }
  }

  void remove(Route route) {
    var removed = worker.removeRoute(route);
    range().applyAll();
    assertThat(removed).isCompleted();
  }

  Answer publish(String topic) {
    var answer = new Answer();
    lane.append(Publication.of(PUBLISHER, topic, QoS.AT_LEAST_ONCE, false, 0, new byte[3]), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  Answer publishInExchange(String topic) {
    var answer = new Answer();
    byte[] body = topic.getBytes(UTF_8);
    var exchange = new Publication.Exchange(1, 9);
    lane.append(
        new Publication(PUBLISHER, QoS.EXACTLY_ONCE, false, 0, -1, -1, body.length, 0, body, exchange), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  Answer publishStoredFirst(String topic) {
    var answer =
        new Answer() {
          @Override
          public Terms terms() {
            return new Terms(true, true, false, 0);
          }
        };
    lane.append(Publication.of(PUBLISHER, topic, QoS.AT_LEAST_ONCE, false, 0, new byte[3]), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  double counted(String meter) {
    return registry.get(meter).functionCounter().count();
  }
}
