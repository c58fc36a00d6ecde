package dunlin.dist.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.lane.ReceivingStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Delivers each message of a recorded QoS 2 exchange to a frontend's connected sessions once, whichever node led the routes when it
 * was sent first: a {@linkplain Terms.Origin repetition} gets the answer of the first.
 */
public final class Repetitions {
  /*
   * The session tier's log knows such a message again, a frontend's memory does: its connected sessions end with it.
   *
   * Lane N of the publisher's frontend is lane N of every leader and lane N here. So what comes again comes on the same
   * thread, and the links of a lane share this object.
   *
   * In a cluster, a leader sends the frontend a message once for all plain routes, and once for each group that has been
   * picked here. These are told apart by the group.
   *
   * Owner: the lane's thread. Answers come from any thread.
   * Bounds: of each publishing lane, the messages that it has not settled, which hold its credit: at most those between
   * the oldest of them and the newest, each once for each of its groups. LANES_MAX lanes; then the one that was silent
   * for longest is forgotten.
   * Failure: a delivery that fails, or that was returned, leaves nothing: a repetition is delivered.
   */
  private static final int LANES_MAX = 1_024;

  private final LinkedHashMap<Long, TreeMap<Copy, First>> lanes = new LinkedHashMap<>(16, 0.75f, true);

  /**
   * A message for its plain routes here, or for a group.
   *
   * @param group the group's filter; empty for the plain routes
   */
  private record Copy(long number, String group) implements Comparable<Copy> {
    static Copy of(long number, MatchedRoutes routes) {
      boolean ofGroup = routes.size() == 1 && routes.get(0).filter().shared();
      return new Copy(number, ofGroup ? routes.get(0).filter().text() : "");
    }

    @Override
    public int compareTo(Copy other) {
      return number == other.number ? group.compareTo(other.group) : Long.compare(number, other.number);
    }
  }

  /** A message that was delivered, and who is to be answered. */
  private static final class First extends Acknowledgement {
    private final Terms terms;

    /** The first receipt, and those of repetitions; null once they are answered. */
    @GuardedBy("this")
    private @Nullable List<Acknowledgement> asking = new ArrayList<>(1);

    /** Written before that. */
    private ReasonCode reason = ReasonCode.SUCCESS;

    First(Acknowledgement receipt) {
      terms = receipt.terms();
      answerTo(receipt);
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode worst) {
      List<Acknowledgement> all;
      synchronized (this) {
        reason = worst;
        all = Objects.requireNonNull(asking);
        asking = null;
      }
      for (Acknowledgement each : all) each.answer(worst);
    }

    /** Whether it is surely not delivered: its group had no member here any more. */
    synchronized boolean isReturned() {
      return asking == null && reason == ReasonCode.USE_ANOTHER_SERVER;
    }

    void answerTo(Acknowledgement receipt) {
      synchronized (this) {
        if (asking != null) {
          asking.add(receipt);
          return;
        }
      }
      receipt.answer(reason);
    }
  }

  /** Delivers a message, unless it was delivered before. The receipt expects one answer from this. */
  void deliver(Delivery delivery, Publication message, Terms.Origin origin, MatchedRoutes routes, ReceivingStream.Receipt receipt) {
    var lane = lanes.computeIfAbsent(origin.stream(), _ -> new TreeMap<>());
    if (lanes.size() > LANES_MAX) lanes.remove(lanes.firstEntry().getKey());
    lane.headMap(new Copy(origin.settled(), "")).clear();
    var copy = Copy.of(origin.number(), routes);
    var before = lane.get(copy);
    if (before != null && !before.isReturned()) {
      before.answerTo(receipt);
      return;
    }
    var first = new First(receipt);
    lane.put(copy, first);
    try {
      delivery.deliver(message, routes, receipt, first);
    } catch (RuntimeException e) {
      lane.remove(copy);
      throw e;
    }
  }

  /** The copies that may still be recognised. */
  int size() {
    return lanes.values().stream().mapToInt(TreeMap::size).sum();
  }
}
