package dunlin.dist.deliver;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A destination that works as one behind a link: it gathers messages until the end of a round, and its answers arrive on a thread of the network, which
 * passes them to the serving thread. It notices when two threads serve it.
 */
public final class LinkLikeDelivery implements Delivery {
  private final @Nullable ShardId shard;
  private final Random random;
  private final boolean inOrder;
  private final Executor thread;
  private final Executor network;
  private final AtomicBoolean busy = new AtomicBoolean();

  /** The serving thread's, without any lock. */
  private final List<String> arrived = new ArrayList<>();

  private List<Sent> round = new ArrayList<>();
  private final List<Sent> unanswered = new ArrayList<>();
  private boolean closed;

  private final AtomicReference<@Nullable String> fault = new AtomicReference<>();

  private record Sent(@Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement, boolean waits) {}

  /**
   * @param shard whose routes it expects; null for any
   * @param inOrder whether it answers in the order of the messages, as the inbox shards do
   */
  public LinkLikeDelivery(@Nullable ShardId shard, long seed, boolean inOrder, Executor thread, Executor network) {
    this.shard = shard;
    random = new Random(seed);
    this.inOrder = inOrder;
    this.thread = thread;
    this.network = network;
  }

  /** Does something of the serving thread. */
  private void alone(Runnable work) {
    if (!busy.compareAndSet(false, true)) {
      fault.set("two threads serve it");
      return;
    }
    try {
      work.run();
    } finally {
      busy.set(false);
    }
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    alone(
        () -> {
          for (int i = 0; i < routes.size(); i++) if (shard != null && !shard.equals(routes.get(i).shard())) fault.set("a route of another shard");
          arrived.add(message.topic());
          boolean atOnce = closed || (!inOrder && random.nextInt(8) == 0);
          if (atOnce) {
            if (acknowledgement != null) acknowledgement.answer(closed ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.SUCCESS);
            return;
          }
          var sent = new Sent(feedback, acknowledgement, feedback != null && random.nextInt(3) == 0);
          unanswered.add(sent);
          round.add(sent);
          if (round.size() == 1) thread.execute(() -> alone(this::endRound));
        });
  }

  private void endRound() {
    var sent = round;
    round = new ArrayList<>();
    network.execute(() -> thread.execute(() -> alone(() -> sent.forEach(this::answer))));
  }

  private void answer(Sent sent) {
    if (!unanswered.remove(sent)) return; // lost when this was closed
    if (sent.waits && sent.feedback != null) {
      sent.feedback.waits(QoS.AT_LEAST_ONCE, 1);
      sent.feedback.waitsNoLonger(QoS.AT_LEAST_ONCE, 1);
    }
    if (sent.acknowledgement != null) sent.acknowledgement.answer(ReasonCode.SUCCESS);
  }

  @Override
  public int groupCredit(Route route) {
    return 1;
  }

  @Override
  public void close() {
    alone(
        () -> {
          closed = true;
          for (Sent sent : unanswered) if (sent.acknowledgement != null) sent.acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
          unanswered.clear();
        });
  }

  /** The topics that it was given; read when all is answered. */
  public List<String> arrived() {
    return arrived;
  }

  /** What was wrong. */
  public Optional<String> fault() {
    return Optional.ofNullable(fault.get());
  }
}
