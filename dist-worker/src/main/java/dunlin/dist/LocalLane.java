package dunlin.dist;

import dunlin.dist.DistWorker.Destination;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A lane to the dist worker of the same process: matches a message and delivers it to its destinations. */
final class LocalLane implements Lane {
  /*
   * Nothing is allocated for a message: matches are gathered in one MatchedRoutes for each destination.
   *
   * DeliveryThreads decides where destinations are served. In one process that is here, before append returns: the
   * destinations are calls that never block, and copies for other threads would cost more than they save. Between
   * processes each is a link, and messages are encoded for each: beyond a number of destinations workers do that.
   *
   * A message of a recorded QoS 2 exchange goes to the publisher's home first, and to all others only once that has
   * recorded the exchange: see RecordedDelivery. Such messages keep their order, since answers come in the order of the
   * log. All inbox shards are one destination, with one log, so the home is the only destination that stores anything.
   *
   * Owner: the thread that opened it.
   * Bounds: the scratch grows to the widest match so far. No queue: a destination that cannot take more refuses the
   * message.
   * Failure: an exception of a destination is thrown to the publisher's connection; the scratch is cleared. A message that
   * matches a route to a frontend that was neither attached nor detached is delivered to the others and answered
   * SERVER_UNAVAILABLE: there may be a subscriber.
   */
  /** The credit of a shard that accepts a message only to keep it. */
  private static final int KEEPS = 1;

  /** Stands for a detached destination, which no message is delivered to. */
  private static final Delivery DETACHED =
      new Delivery() {
        @Override
        public void deliver(
            Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
          throw new IllegalStateException("a message is delivered to a detached destination");
        }

        @Override
        public int groupCredit(Route route) {
          throw new IllegalStateException("a detached destination is asked for credit");
        }

        @Override
        public void close() {}
      };

  private final DistWorker worker;
  private final FilterRanges.Search ranges;
  private final Function<Publisher, ShardId> home;
  private final Executor thread;
  private final DeliveryThreads.OfLane threads;
  private final SplittableRandom random = new SplittableRandom();
  private final Consumer<FilterRoutes> gatherer = this::gather;

  // Written by the owner only, read by metrics.
  private final AtomicLong published = new AtomicLong();
  private final AtomicLong visited = new AtomicLong();
  private final AtomicLong matchedMessages = new AtomicLong();
  private final AtomicLong unattached = new AtomicLong();

  private Destination[] destinations = {};
  private Delivery[] deliveries = {};
  private MatchedRoutes[] matched = {};
  private Publisher publisher = new Publisher("", "");
  private boolean appending;
  private boolean unknown; // the message matches a route to a shard that was never attached

  LocalLane(DistWorker worker, Function<Publisher, ShardId> home, int number, Executor thread) {
    this.worker = worker;
    this.ranges = worker.ranges().new Search();
    this.home = home;
    this.thread = thread;
    threads = worker.threads().open(number, thread);
  }

  @Override
  public void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    assert !appending : "a message was appended while the previous one is being delivered";
    appending = true;
    attachNew();
    publisher = message.publisher();
    try {
      match(message);
      hand(message, feedback, acknowledgement);
    } finally {
      for (MatchedRoutes of : matched) of.clear();
      unknown = false;
      appending = false;
    }
  }

  @SuppressWarnings("ReferenceEquality") // compared for each message: the worker creates a new array for each change
  private void attachNew() {
    Destination[] present = worker.destinations();
    Destination[] known = destinations;
    if (present == known) return;
    deliveries = Arrays.copyOf(deliveries, present.length);
    matched = Arrays.copyOf(matched, present.length);
    for (int i = 0; i < present.length; i++) {
      if (i < known.length) {
        if (present[i] == known[i]) continue;
        thread.execute(deliveries[i]::close); // later: its answers must not arrive while a message is being appended
      }
      var attached = present[i].deliveries();
      deliveries[i] = attached == null ? DETACHED : threads.open(i, attached);
      matched[i] = new MatchedRoutes();
    }
    destinations = present;
  }

  /** Lets go of the ways to all destinations; nothing is appended any more. Any thread. */
  void close() {
    thread.execute(
        () -> {
          try {
            for (Delivery delivery : deliveries) delivery.close();
          } finally {
            threads.close();
          }
        });
  }

  private void match(Publication message) {
    boolean[] in = ranges.in(publisher.tenant(), message.body(), message.topicLength());
    for (int range = 0; range < in.length; range++) {
      if (!in[range]) continue;
      count(visited, 1);
      worker.applied(range).index().match(publisher.tenant(), message.body(), 0, message.topicLength(), gatherer);
    }
  }

  private void hand(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    int copies = 0;
    for (MatchedRoutes of : matched) if (of.size() > 0) copies++;
    count(published, 1);
    if (copies > 0) count(matchedMessages, 1);
    if (copies > 0 && acknowledgement != null) acknowledgement.markMatched();
    if (unknown && acknowledgement != null) {
      acknowledgement.expect();
      acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
    }
    if (acknowledgement != null && (message.exchange() != null || (acknowledgement.terms().storesFirst() && isToBeStored()))) {
      record(message, feedback, acknowledgement);
      return;
    }
    threads.copies(copies);
    for (int i = 0; i < matched.length; i++) {
      if (matched[i].size() == 0) continue;
      if (acknowledgement != null) acknowledgement.expect();
      deliveries[i].deliver(message, matched[i], feedback, acknowledgement);
    }
  }

  /** Whether a destination that stores messages is among the matches. */
  private boolean isToBeStored() {
    int recorder = destinationOf(home.apply(publisher));
    return recorder >= 0 && matched[recorder].size() > 0;
  }

  /** Delivers a message to the publisher's home, and to the others once it is recorded there. */
  private void record(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
    int recorder = destinationOf(home.apply(publisher));
    acknowledgement.expect();
    if (recorder < 0) {
      acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
      return;
    }
    RecordedDelivery held = null;
    for (int i = 0; i < matched.length; i++) {
      if (i == recorder || matched[i].size() == 0) continue;
      if (held == null) held = new RecordedDelivery(message, feedback, acknowledgement, thread, threads);
      held.hold(deliveries[i], matched[i].copy());
    }
    threads.copies(1);
    deliveries[recorder].deliver(message, matched[recorder], feedback, held == null ? acknowledgement : held);
  }

  private void gather(FilterRoutes of) {
    for (Route route : of.plain()) add(route);
    for (FilterRoutes.Group group : of.groups()) {
      Route[] shards = group.routes();
      add(shards.length == 1 ? shards[0] : group.ordered() ? sticky(shards) : ready(shards));
    }
  }

  private void add(Route route) {
    int destination = destinationOf(route.shard());
    if (destination >= 0) {
      matched[destination].add(route);
    } else {
      count(unattached, 1);
      unknown |= !isDetached(route.shard());
    }
  }

  /**
   * One of two random shards, picked in proportion to their credit: a shard with three times the members gets three
   * times the messages, and one whose members fall behind gets fewer. If one of the two has no members that can take
   * the message now, the best shard of all. If none has any credit, still one of them: its destination decides between
   * waiting and refusing. All shards are local, so none is preferred for that.
   */
  private Route ready(Route[] shards) {
    int one = random.nextInt(shards.length);
    int two = random.nextInt(shards.length - 1);
    if (two >= one) two++;
    int creditOfOne = credit(shards[one]);
    int creditOfTwo = credit(shards[two]);
    if (creditOfOne > KEEPS && creditOfTwo > KEEPS)
      return shards[random.nextLong((long) creditOfOne + creditOfTwo) < creditOfOne ? one : two];
    int best = creditOfTwo > creditOfOne ? two : one;
    int most = Math.max(creditOfOne, creditOfTwo);
    for (int i = 1; most <= KEEPS && i < shards.length; i++) {
      int next = (one + i) % shards.length;
      int credit = credit(shards[next]);
      if (credit > most) {
        most = credit;
        best = next;
      }
    }
    return shards[best];
  }

  /** Credit of a group's route, -1 when no destination serves its shard. */
  private int credit(Route route) {
    int destination = destinationOf(route.shard());
    return destination < 0 ? -1 : Math.max(0, deliveries[destination].groupCredit(route));
  }

  /** Rendezvous hashing: a publisher changes its shard only when that one is removed or a better one is added. */
  private Route sticky(Route[] shards) {
    long publisherHash = mix(31L * publisher.tenant().hashCode() + publisher.clientId().hashCode());
    Route best = shards[0];
    long highest = Long.MIN_VALUE;
    for (Route route : shards) {
      if (destinationOf(route.shard()) < 0) continue;
      // Not ShardId.hashCode(), since an enum's hash code differs between JVMs.
      long shardHash = 31L * route.shard().name().hashCode() + route.shard().kind().code();
      long score = mix(publisherHash ^ mix(shardHash));
      if (score > highest) {
        highest = score;
        best = route;
      }
    }
    return best;
  }

  private static long mix(long value) {
    long z = (value + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  private int destinationOf(ShardId shard) {
    for (int i = 0; i < destinations.length; i++) if (destinations[i].serves(shard)) return i;
    return -1;
  }

  private boolean isDetached(ShardId shard) {
    for (Destination destination : destinations) if (destination.isDetached(shard)) return true;
    return false;
  }

  private static void count(AtomicLong counter, long more) {
    counter.setOpaque(counter.getPlain() + more);
  }

  /** Messages appended. Any thread. */
  long published() {
    return published.getOpaque();
  }

  /** Ranges of routes that were searched. Any thread. */
  long visited() {
    return visited.getOpaque();
  }

  /** Messages with a matching route. Any thread. */
  long matched() {
    return matchedMessages.getOpaque();
  }

  /** Matching routes whose shard no destination serves. Any thread. */
  long unattached() {
    return unattached.getOpaque();
  }
}
