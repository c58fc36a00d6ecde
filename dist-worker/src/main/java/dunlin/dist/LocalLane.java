package dunlin.dist;

import dunlin.dist.DistWorker.Destination;
import dunlin.dist.RoutesMXBean.RouteAccount;
import dunlin.dist.route.FilterRanges;
import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.runtime.Failures;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LeftBehind;
import dunlin.transport.Terms;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A lane to the dist worker of the same process: matches a message and delivers it to its destinations. */
final class LocalLane implements Lane, MatchedLane {
  /*
   * Nothing is allocated for a message in one process: matches are gathered in one MatchedRoutes for each destination.
   *
   * DeliveryThreads decides where destinations are served. In one process that is here, before append returns: the
   * destinations are calls that never block, and copies for other threads would cost more than they save. Between
   * processes each is a link, and messages are encoded for each: beyond a number of destinations workers do that.
   *
   * A message of a recorded QoS 2 exchange, or a will whose sending is recorded, goes to the publisher's home first, and to all others only once that has
   * recorded the exchange: see RecordedDelivery. Such messages keep their order, since answers come in the order of the
   * messages. In one process all inbox shards are one destination, whatever the number of their logs, so the home is the only destination
   * that stores anything. In a cluster the shards of each log are one: those of other logs wait for the home as frontends do. A repetition, or a will, for a group whose durable
   * members are in another log goes where the record says.
   *
   * In a cluster, a frontend may have lost the last member of a group while a message for the group was on its way. It
   * returns a message of QoS 1 and 2 then, which goes to another frontend of the group. So that it is known which group
   * an answer is for, such a message goes to a frontend once for each group and once for all plain routes. The next frontend of
   * a message of a recorded exchange is added to the record before. What such a member has left behind comes from its frontend for that group only (RedealLane).
   *
   * It is long since matching, picking and delivering a message share its scratch and the destinations as they were taken over; AtFrontend goes on with these.
   *
   * Owner: the thread that opened it.
   * Bounds: the scratch grows to the widest match so far. No queue: a destination that cannot take more refuses the
   * message.
   * Failure: an exception of a destination is thrown to the publisher's connection; the scratch is cleared. A message that
   * matches a route to a frontend that was neither attached nor detached may have a subscriber there. In a cluster it is
   * returned, and not delivered: its sender sends it again until that frontend is known. In one process it is delivered
   * to the others and answered SERVER_UNAVAILABLE. So it is when the range of this process was split since the others were asked.
   */
  /** As traces name it. */
  private static final String HOP = "routes";

  /** No tier has more shards. */
  private static final int INBOX_SHARDS_MAX = 4_096;

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
  private final Tracer traces;
  private final boolean returns;
  private final GroupPick groups;
  private final Consumer<FilterRoutes> gatherer = this::gather;

  // Written by the owner only, read by metrics.
  private final AtomicLong published = new AtomicLong();
  private final AtomicLong visited = new AtomicLong();
  private final AtomicLong matchedMessages = new AtomicLong();
  private final AtomicLong unattached = new AtomicLong();
  private final AtomicLong returned = new AtomicLong();

  private Destination[] destinations = {};
  private Delivery[] deliveries = {};
  private MatchedRoutes[] matched = {};

  /** Where the groups of the message get it whose frontend may return it. */
  private final List<AtFrontend> atFrontends = new ArrayList<>();

  /** What was picked for groups of a message that has an origin. */
  private final List<Long> picks = new ArrayList<>();

  private Publisher publisher = new Publisher("", "");

  /** Of the message that is being appended; null with QoS 0, which no frontend returns. */
  private @Nullable Acknowledgement acknowledging;

  private Terms.@Nullable Origin origin;

  /** Of a message for one group only; null for all subscribers. */
  private @Nullable LeftBehind leftBehind;

  private boolean appending;

  /** Whether the message belongs to a recorded exchange. */
  private boolean exchanged;

  /** Messages until one's match is timed, that one included; the first is. */
  private int untilSample = 1;

  private final SplittableRandom gaps = new SplittableRandom();
  private boolean closed;
  private boolean unknown; // the message matches a route to a shard that was never attached

  /** @param returns whether frontends return what they have no member of a group for */
  LocalLane(DistWorker worker, Function<Publisher, ShardId> home, int number, Executor thread, boolean returns) {
    this(worker, home, number, thread, returns, new SplittableRandom());
  }

  /** @param picks what is picked at random for groups */
  LocalLane(DistWorker worker, Function<Publisher, ShardId> home, int number, Executor thread, boolean returns, SplittableRandom picks) {
    groups = new GroupPick(this::credit, this::isDetached, this::frontends, worker.own(), picks);
    this.worker = worker;
    this.ranges = worker.ranges().new Search();
    this.home = home;
    this.thread = thread;
    threads = worker.threads().open(number, thread);
    traces = worker.tracer();
    this.returns = returns;
  }

  /** In a process that has all ranges of routes. */
  @Override
  public void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    append(message, Elsewhere.NOWHERE, feedback, acknowledgement);
  }

  @Override
  public void append(Publication message, Elsewhere elsewhere, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    assert !appending : "a message was appended while the previous one is being delivered";
    appending = true;
    attachNew();
    publisher = message.publisher();
    acknowledging = message.qos() == QoS.AT_MOST_ONCE ? null : acknowledgement;
    origin = acknowledgement == null ? null : acknowledgement.terms().origin();
    leftBehind = acknowledgement == null ? null : acknowledgement.leftBehind();
    exchanged = message.exchange() != null;
    try {
      timedMatch(message);
      gather(elsewhere);
      hand(message, feedback, acknowledgement);
    } finally {
      for (MatchedRoutes of : matched) of.clear();
      atFrontends.clear();
      picks.clear();
      acknowledging = null;
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

  /**
   * Takes over changed destinations without waiting for a message: unanswered messages to one that is detached are answered, soon.
   * Does nothing on a closed lane. Any thread.
   */
  void attachSoon() {
    try {
      thread.execute(
          () -> {
            if (!closed) attachNew();
          });
    } catch (RejectedExecutionException ended) {
      // It was closed, and its messages are answered.
    }
  }

  /** Lets go of the ways to all destinations; nothing is appended any more. Any thread. */
  void close() {
    thread.execute(
        () -> {
          closed = true;
          try {
            for (Delivery delivery : deliveries) delivery.close();
          } finally {
            threads.close();
          }
        });
  }

  /** Matches, and times one message of {@code DistMeters.SAMPLED} on average; the gaps vary, so that no pattern of topics can hide from them. */
  private void timedMatch(Publication message) {
    if (--untilSample > 0) {
      match(message);
      return;
    }
    untilSample = 1 + gaps.nextInt(2 * DistMeters.SAMPLED - 1);
    long start = System.nanoTime();
    int nodes = match(message);
    worker.meters().matched(System.nanoTime() - start, nodes);
  }

  private int match(Publication message) {
    int nodes = 0;
    boolean[] in = ranges.in(publisher.tenant(), message.body(), message.topicLength());
    for (int range = 0; range < in.length; range++) {
      if (!in[range]) continue;
      count(visited, 1);
      nodes += worker.applied(range).match(publisher.tenant(), message.body(), 0, message.topicLength(), gatherer);
    }
    return nodes;
  }

  /** Adds what other ranges have answered. When keys of the own range have moved since they were asked, routes may be missing. */
  private void gather(Elsewhere elsewhere) {
    if (!returns) return; // there are no others
    for (FilterRoutes of : elsewhere.filters()) gather(of);
    count(visited, elsewhere.visited());
    unknown |= worker.epoch() != elsewhere.epoch();
  }

  private void hand(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    count(published, 1);
    if (traces.follows(message, null)) noteRoutes(message);
    if (unknown && returns && acknowledging != null) {
      count(returned, 1);
      acknowledging.expect();
      acknowledging.answer(ReasonCode.USE_ANOTHER_SERVER);
      return;
    }
    int copies = 0;
    for (MatchedRoutes of : matched) if (of.size() > 0) copies++;
    if (copies > 0 || !atFrontends.isEmpty()) count(matchedMessages, 1);
    if (copies > 0 && acknowledgement != null) acknowledgement.markMatched();
    if (unknown && acknowledgement != null) {
      acknowledgement.expect();
      acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
    }
    if (acknowledgement != null && message.exchange() != null) {
      record(message, feedback, acknowledgement);
      return;
    }
    if (acknowledgement != null && acknowledgement.terms().storesFirst() && isToBeStored()) {
      store(message, feedback, acknowledgement);
      return;
    }
    threads.copies(copies + atFrontends.size());
    for (int i = 0; i < matched.length; i++) {
      if (matched[i].size() == 0) continue;
      if (acknowledgement != null) acknowledgement.expect();
      deliveries[i].deliver(message, matched[i], feedback, acknowledgement);
    }
    if (acknowledgement == null) return;
    for (AtFrontend group : atFrontends) {
      acknowledgement.expect();
      group.deliver(message, feedback, acknowledgement);
    }
  }

  /** Notes where a message goes in the traces that follow it. */
  private void noteRoutes(Publication message) {
    boolean matches = !atFrontends.isEmpty();
    for (MatchedRoutes of : matched) {
      for (int i = 0; i < of.size(); i++) noteRoute(message, of.get(i));
      matches |= of.size() > 0;
    }
    for (AtFrontend group : atFrontends) noteRoute(message, group.picked);
    if (!matches) traces.note(HOP, Step.UNMATCHED, unknown ? "a node that is not known yet" : "", message, null);
  }

  private void noteRoute(Publication message, Route route) {
    traces.note(HOP, Step.FORWARDED, route.shard().name() + " " + route.filter().text(), message, null);
  }

  /** Whether a destination that stores messages is among the matches. */
  private boolean isToBeStored() {
    for (int i = 0; i < matched.length; i++) if (destinations[i].stores() && matched[i].size() > 0) return true;
    return false;
  }

  /** Delivers a message to the publisher's home, and to the others once it is recorded there. */
  private void record(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
    int recorder = destinationOf(home.apply(publisher));
    acknowledgement.expect();
    if (recorder < 0) {
      acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
      return;
    }
    boolean holds = !atFrontends.isEmpty() || !picks.isEmpty();
    var terms = withPicks(acknowledgement.terms());
    RecordedDelivery held = holds ? new RecordedDelivery(message, terms, feedback, acknowledgement, thread, threads) : null;
    for (int i = 0; i < matched.length; i++) {
      if (i == recorder || matched[i].size() == 0) continue;
      if (held == null) held = new RecordedDelivery(message, terms, feedback, acknowledgement, thread, threads);
      hold(held, i);
    }
    for (AtFrontend group : atFrontends) Objects.requireNonNull(held).hold(group);
    threads.copies(1);
    deliveries[recorder].deliver(message, matched[recorder], feedback, held == null ? acknowledgement : held);
  }

  private Terms withPicks(Terms terms) {
    return origin == null || picks.isEmpty() ? terms : terms.from(origin.withPicked(picks));
  }

  /** Delivers a message to all that store it, and to the others once it is stored, or a limit has refused it. */
  private void store(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
    acknowledgement.expect();
    var held = new RecordedDelivery(message, withPicks(acknowledgement.terms()), feedback, acknowledgement, thread, threads);
    int copies = 0;
    for (int i = 0; i < matched.length; i++) {
      if (matched[i].size() == 0) continue;
      if (destinations[i].stores()) copies++;
      else hold(held, i);
    }
    for (AtFrontend group : atFrontends) held.hold(group);
    threads.copies(copies);
    for (int i = 0; i < matched.length; i++) {
      if (!destinations[i].stores() || matched[i].size() == 0) continue;
      held.expect();
      deliveries[i].deliver(message, matched[i], feedback, copies == 1 ? held : held.store());
    }
    held.answer(ReasonCode.SUCCESS);
  }

  private void hold(RecordedDelivery held, int destination) {
    var delivery = deliveries[destination];
    var routes = matched[destination].copy();
    boolean recorded = destinations[destination].stores(); // and so by another one, its home
    held.hold((to, back, answer) -> delivery.deliver(to, routes, back, recorded ? RecordedDelivery.ofRecorded(answer) : answer));
  }

  private void gather(FilterRoutes of) {
    if (leftBehind == null) for (Route route : of.plain()) add(route);
    for (FilterRoutes.Group group : of.groups()) {
      Route[] shards = group.routes();
      if (leftBehind != null && !shards[0].filter().equals(leftBehind.group())) continue;
      Route picked = groups.of(leftBehind == null ? shards : elsewhere(shards, leftBehind), group.ordered(), publisher, origin);
      if (origin != null && acknowledging != null) {
        long number = GroupPick.numberOf(picked);
        acknowledging.picked(number);
        picks.add(number);
      }
      boolean atFrontend = isAtFrontend(picked);
      boolean mayBeElsewhere = origin != null && (origin.repeated() || origin.isOfWill());
      boolean inOtherRange = mayBeElsewhere && exchanged && isInOtherRange(picked.shard());
      if (returns && acknowledging != null && (atFrontend || mayBeElsewhere)) atFrontends.add(new AtFrontend(shards, group.ordered(), picked, inOtherRange));
      if (!returns || acknowledging == null || !(atFrontend || inOtherRange)) add(picked);
    }
  }

  /** The routes to others than the frontend whose member has left, if there are any: that one would return the message, and what comes behind it would overtake it. */
  private static Route[] elsewhere(Route[] shards, LeftBehind message) {
    var left = ShardId.frontend(message.frontend());
    Route[] others = Arrays.stream(shards).filter(each -> !each.shard().equals(left)).toArray(Route[]::new);
    return others.length == 0 ? shards : others;
  }

  /** Whether a shard is an inbox in another range than the publisher's session, so that another log stores the message. */
  private boolean isInOtherRange(ShardId shard) {
    return shard.kind() == ShardId.Kind.INBOX && destinationOf(shard) != destinationOf(home.apply(publisher));
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

  /** Credit of a group's route, -1 when no destination serves its shard. */
  private int credit(Route route) {
    int destination = destinationOf(route.shard());
    return destination < 0 ? -1 : Math.max(0, deliveries[destination].groupCredit(route));
  }

  private boolean isAtFrontend(Route route) {
    return route.shard().kind() == ShardId.Kind.FRONTEND && destinationOf(route.shard()) >= 0;
  }

  private List<ShardId> frontends() {
    var all = new ArrayList<ShardId>(destinations.length);
    for (Destination each : destinations) {
      if (each.frontend() != null && each.deliveries() != null) all.add(ShardId.frontend(each.frontend()));
    }
    return all;
  }

  /** The inbox shard with this number for a group, in another range than that of the publisher's session; null when it is in that one, or there is no other. */
  private @Nullable ShardId otherInbox(Publisher by, TopicFilter group, long pick) {
    int recorder = destinationOf(home.apply(by));
    for (int i = 0; i < destinations.length; i++) {
      if (i == recorder || !destinations[i].stores()) continue;
      for (int shard = destinations[i].from(); shard < Math.min(destinations[i].to(), INBOX_SHARDS_MAX); shard++) {
        if (Terms.Pick.of(group, ShardId.inbox(shard)) == pick) return ShardId.inbox(shard);
      }
    }
    return null;
  }

  private int destinationOf(ShardId shard) {
    for (int i = 0; i < destinations.length; i++) if (destinations[i].serves(shard)) return i;
    return -1;
  }

  private boolean isDetached(ShardId shard) {
    for (Destination destination : destinations) if (destination.isDetached(shard)) return true;
    return false;
  }

  /** A message for one member of a group: at one frontend after another, until one of them does not return it. */
  private final class AtFrontend implements RecordedDelivery.Copy {
    /*
     * Without any other frontend the group has no member any more: that is a message without subscribers. Members that
     * have come since the message was matched are not among them.
     *
     * A repetition learns from the record of its exchange where the message is: at a frontend, or with the durable members. One that was sent to these because it did
     * not know of a frontend that lives goes to that frontend. Where it goes is in the record before it goes there. The first attempt that a leader makes at a will learns it, too: another leader's
     * may be recorded.
     *
     * Owner: the lane's thread; answers come on any thread.
     */
    private final boolean ordered;
    private final Publisher by = publisher;

    /** Those that have not returned it. */
    private Route[] shards;

    private Route picked;

    /** What was picked for a message that has an origin, the last one last. */
    private final List<Long> tried = origin == null ? List.of() : new ArrayList<>(1);

    /** Whether the durable members have it, or are to have it, as far as it is known. */
    private boolean stored;

    /** The shard of the durable members, if another range than the record's has to store it for them: it does that once. */
    private @Nullable ShardId inOtherRange;

    /** Whether the record names a frontend that has ended, and not the shard that is picked now. */
    private boolean unrecorded;

    AtFrontend(Route[] shards, boolean ordered, Route picked, boolean inOtherRange) {
      this.shards = shards;
      this.ordered = ordered;
      this.picked = picked;
      stored = picked.shard().kind() == ShardId.Kind.INBOX;
      this.inOtherRange = inOtherRange ? picked.shard() : null;
      if (origin != null) tried.add(GroupPick.numberOf(picked));
    }

    @Override
    public void learn(List<Long> picks, Acknowledgement acknowledgement) {
      var own = picks.stream().filter(pick -> Terms.Pick.isOf(picked.filter(), pick)).toList();
      var durable = own.reversed().stream().filter(Terms.Pick::isStored).findFirst();
      if (durable.isPresent()) {
        stored = true;
        inOtherRange = otherInbox(by, picked.filter(), durable.get());
      }
      if (own.isEmpty() || durable.isPresent() || tried.contains(own.getLast())) return;
      Route last = groups.before(shards, picked.filter(), own);
      if (last == null) {
        tried.clear();
        tried.addAll(own);
        unrecorded = true;
      } else {
        picked = last;
        stored = false;
        tried.add(GroupPick.numberOf(last));
        acknowledgement.picked(tried.getLast());
      }
    }

    @Override
    public void deliver(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
      var origin = acknowledgement.terms().origin();
      if (unrecorded && origin != null) {
        unrecorded = false;
        record(message, origin, feedback, acknowledgement);
        return;
      }
      if (stored) {
        store(message, feedback, acknowledgement);
        return;
      }
      int destination = destinationOf(picked.shard());
      if (destination < 0) {
        goOn(message, feedback, acknowledgement);
        return;
      }
      var routes = new MatchedRoutes();
      routes.add(picked);
      deliveries[destination].deliver(message, routes, feedback, new Answer(message, feedback, acknowledgement));
    }

    private void store(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
      if (inOtherRange == null) {
        acknowledgement.answer(ReasonCode.SUCCESS); // the record and the message are of one entry
        return;
      }
      int destination = destinationOf(inOtherRange);
      if (destination < 0) {
        acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
        return;
      }
      var routes = new MatchedRoutes();
      routes.add(new Route(picked.tenant(), picked.filter(), inOtherRange, 0, 0));
      deliveries[destination].deliver(message, routes, feedback, RecordedDelivery.ofRecorded(new Answer(message, feedback, acknowledgement)));
    }

    private void goOn(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
      if (closed) {
        acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
        return;
      }
      attachNew();
      var without = picked.shard();
      shards = Arrays.stream(shards).filter(each -> !each.shard().equals(without)).toArray(Route[]::new);
      Route[] candidates = Arrays.stream(shards).filter(LocalLane.this::isAtFrontend).toArray(Route[]::new);
      if (candidates.length > 0) {
        var first = acknowledgement.terms().origin();
        if (first == null || message.exchange() == null) {
          picked = groups.of(candidates, ordered, message.publisher(), null);
          threads.copies(1);
          deliver(message, feedback, acknowledgement);
        } else {
          picked = ordered ? groups.of(candidates, true, message.publisher(), null) : GroupPick.next(candidates, first);
          record(message, first, feedback, acknowledgement);
        }
        return;
      }
      boolean mayHaveMembers =
          Arrays.stream(shards).anyMatch(each -> each.shard().kind() == ShardId.Kind.FRONTEND && !isDetached(each.shard()));
      acknowledgement.answer(mayHaveMembers ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.SUCCESS);
    }

    /** Adds the pick to the record of the exchange before the message is delivered: a repetition by the client's next connection must go there. */
    private void record(Publication message, Terms.Origin first, @Nullable Feedback feedback, Acknowledgement acknowledgement) {
      int recorder = destinationOf(home.apply(message.publisher()));
      if (recorder < 0) {
        acknowledgement.answer(ReasonCode.SERVER_UNAVAILABLE);
        return;
      }
      tried.add(GroupPick.numberOf(picked));
      acknowledgement.picked(tried.getLast());
      var terms = acknowledgement.terms().from(first.asRepetition().withPicked(tried));
      var held = new RecordedDelivery(message, terms, feedback, acknowledgement, thread, threads);
      held.hold(this);
      var routes = new MatchedRoutes();
      if (stored && inOtherRange == null) routes.add(picked);
      threads.copies(1);
      deliveries[recorder].deliver(message, routes, null, held);
    }

    private final class Answer extends Acknowledgement {
      private final Publication message;
      private final @Nullable Feedback feedback;
      private final Acknowledgement to;

      Answer(Publication message, @Nullable Feedback feedback, Acknowledgement to) {
        this.message = message;
        this.feedback = feedback;
        this.to = to;
      }

      @Override
      public Terms terms() {
        return to.terms();
      }

      @Override
      public boolean comesAgain() {
        return to.comesAgain();
      }

      @Override
      public void willFail(ReasonCode reason) {
        if (reason != ReasonCode.USE_ANOTHER_SERVER) to.willFail(reason);
      }

      @Override
      protected void complete(ReasonCode reason) {
        if (reason == ReasonCode.USE_ANOTHER_SERVER) {
          thread.execute(() -> goOn(message, feedback, to));
          return;
        }
        to.markMatched();
        to.answer(reason);
      }
    }
  }

  private static void count(AtomicLong counter, long more) {
    counter.setOpaque(counter.getPlain() + more);
  }

  /** What has become of the messages appended so far, read between two of them. Any thread; the answer comes from the lane's thread. */
  CompletableFuture<RouteAccount> account() {
    return Failures.inFuture(() -> CompletableFuture.supplyAsync(this::ownAccount, thread));
  }

  private RouteAccount ownAccount() {
    long forwarded = matched();
    return new RouteAccount(published(), forwarded, published() - forwarded - returned.getOpaque(), returned.getOpaque());
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
