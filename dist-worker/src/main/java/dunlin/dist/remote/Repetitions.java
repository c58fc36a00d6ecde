package dunlin.dist.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.lane.ReceivingStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Delivers each message of a recorded QoS 2 exchange to a frontend's connected sessions once, whichever node led the routes when it
 * was sent first, and by whichever frontend it came: a {@linkplain Terms.Origin repetition} gets the answer of the first.
 */
public final class Repetitions {
  /*
   * The session tier's log knows such a message again, a frontend's memory does: its connected sessions end with it.
   *
   * What a lane sends again has the number that it had on that lane. So has what a client publishes again over its next connection, when its exchange was
   * recorded and it is unknown whether connected sessions have it; that may come by another lane. So all lanes share this object.
   *
   * In a cluster, a leader sends the frontend a message once for all plain routes, and once for each group that has been
   * picked here. The group tells these apart. Clients choose how long its name is, so a long one is noted as its digest, and a short one as the
   * object that the routes of a link share.
   *
   * Wills whose sending is recorded have a lane of their own, by the epochs that left them. They come in no order, and nothing says that one is settled. The leader of
   * a range of sessions sends a quarter of WILLS_KEPT at once at most, and each is a copy for the plain routes and one for each group.
   *
   * Owner: any thread; each publishing lane has a lock, which is not held while a message is delivered. Answers come from any thread.
   * Bounds: of each publishing lane, the messages that it has not settled: those of recorded exchanges since its oldest unanswered one,
   * a million at most (SendingStream), each once for each of its groups; and the KEPT that it has settled last, since the end of their publisher's frontend may keep its client
   * from knowing. Of wills WILLS_KEPT copies. Each has up to GROUP_LENGTH characters of its group. LANES_MAX lanes; then the one that was silent for longest is forgotten.
   * Failure: a delivery that fails, or that was returned, leaves nothing: a repetition is delivered. So is one that comes when its first delivery is
   * forgotten.
   */
  private static final int LANES_MAX = 1_024;
  private static final int KEPT = 256;
  static final int WILLS_KEPT = 16_384;

  /** Longer filters of groups are noted as their digest. */
  private static final int GROUP_LENGTH = 256;

  /** Less than the filter of any group, so that it begins the copies of a message. */
  private static final TopicFilter PLAIN = TopicFilter.plain("\u0001");

  private final ConcurrentHashMap<Long, Publishing> lanes = new ConcurrentHashMap<>();
  private final Publishing wills = new Publishing();
  private final AtomicLong uses = new AtomicLong();

  /** What one publishing lane has sent. */
  private static final class Publishing {
    @GuardedBy("this")
    private final TreeMap<Copy, First> unsettled = new TreeMap<>();

    /** The oldest first. */
    @GuardedBy("this")
    private final LinkedHashMap<Copy, First> settled = new LinkedHashMap<>();

    private volatile long used;

    /** The first delivery of a copy; null when it is the first one, which is noted then. */
    synchronized @Nullable First before(Copy copy, First now) {
      var first = unsettled.get(copy);
      if (first == null) first = settled.get(copy);
      if (first != null && !first.isReturned()) return first;
      settled.remove(copy);
      unsettled.put(copy, now);
      return null;
    }

    synchronized void remove(Copy copy, First failed) {
      unsettled.remove(copy, failed);
      settled.remove(copy, failed);
    }

    /** @param kept how many of those that are settled */
    synchronized void settle(long below, int kept) {
      var over = unsettled.headMap(new Copy(below, PLAIN, "")).entrySet().iterator();
      while (over.hasNext()) {
        var each = over.next();
        settled.put(each.getKey(), each.getValue());
        over.remove();
      }
      var oldest = settled.keySet().iterator();
      while (settled.size() > kept) {
        oldest.next();
        oldest.remove();
      }
    }

    synchronized int size() {
      return unsettled.size() + settled.size();
    }

    synchronized List<Copy> copies() {
      return Stream.of(unsettled, settled).flatMap(each -> each.keySet().stream()).toList();
    }
  }

  /**
   * A message for its plain routes here, or for a group.
   *
   * @param group the group's filter; a plain one for the plain routes, and in the place of a long one
   * @param digest of a long filter of a group; empty else
   */
  private record Copy(long number, TopicFilter group, String digest) implements Comparable<Copy> {
    static Copy of(long number, MatchedRoutes routes) {
      boolean ofGroup = routes.size() == 1 && routes.get(0).filter().shared();
      if (!ofGroup) return new Copy(number, PLAIN, "");
      TopicFilter group = routes.get(0).filter();
      boolean isLong = group.length() > GROUP_LENGTH;
      return isLong ? new Copy(number, PLAIN, digest(group)) : new Copy(number, group, "");
    }

    /** Of a kind that no client finds two filters for, as it would keep messages from the other group. */
    private static String digest(TopicFilter group) {
      try {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(group.text().getBytes(StandardCharsets.UTF_8)));
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException(e); // every JVM has it
      }
    }

    @Override
    public int compareTo(Copy other) {
      if (number != other.number) return Long.compare(number, other.number);
      int byGroup = group.compareTo(other.group);
      return byGroup == 0 ? digest.compareTo(other.digest) : byGroup;
    }

    int length() {
      return group.length() + digest.length();
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

  /**
   * The answer to what a client has published again, or to a will that is sent again: those who could take the message have it. With the error of the first delivery, a client of MQTT 3 would be
   * disconnected and publish it again for ever.
   */
  private static final class Received extends Acknowledgement {
    private final Acknowledgement receipt;

    Received(Acknowledgement receipt) {
      this.receipt = receipt;
    }

    @Override
    public Terms terms() {
      return receipt.terms();
    }

    @Override
    protected void complete(ReasonCode ofTheFirst) {
      receipt.answer(ReasonCode.SUCCESS);
    }
  }

  /** Delivers a message, unless it was delivered before. The receipt expects one answer from this. */
  void deliver(Delivery delivery, Publication message, Terms.Origin origin, MatchedRoutes routes, ReceivingStream.Receipt receipt) {
    var lane = origin.isOfWill() ? wills : lane(origin.stream());
    if (origin.isOfWill()) lane.settle(Long.MAX_VALUE, WILLS_KEPT);
    else lane.settle(origin.settled(), KEPT);
    var copy = Copy.of(origin.number(), routes);
    var first = new First(receipt);
    var before = lane.before(copy, first);
    if (before != null) {
      before.answerTo(origin.isFromRecord() ? new Received(receipt) : receipt);
      return;
    }
    try {
      delivery.deliver(message, routes, receipt, first);
    } catch (RuntimeException e) {
      lane.remove(copy, first);
      throw e;
    }
  }

  private Publishing lane(long stream) {
    var lane = lanes.computeIfAbsent(stream, _ -> new Publishing());
    lane.used = uses.incrementAndGet();
    if (lanes.size() > LANES_MAX) {
      lanes.entrySet().stream().min(Comparator.comparingLong(each -> each.getValue().used)).ifPresent(oldest -> lanes.remove(oldest.getKey()));
    }
    return lane;
  }

  /** The copies that may still be recognised. */
  int size() {
    return wills.size() + lanes.values().stream().mapToInt(Publishing::size).sum();
  }

  /** The characters of their groups, where those that share an object count each. */
  long groupCharacters() {
    return copies().mapToLong(Copy::length).sum();
  }

  /** The objects that have these. */
  long groupObjects() {
    return copies().map(copy -> System.identityHashCode(copy.group)).distinct().count();
  }

  private Stream<Copy> copies() {
    return Stream.concat(wills.copies().stream(), lanes.values().stream().flatMap(each -> each.copies().stream()));
  }
}
