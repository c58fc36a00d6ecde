package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Acknowledged;
import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event.Published;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A history prepared for the rules: the fate of each message, and the sessions of each client. */
public final class Facts {
  /*
   * Owner: the thread of the check builds it; any thread reads it.
   */
  private static final int SERVER_BUSY = 0x89;
  private static final int SERVER_SHUTTING_DOWN = 0x8B;
  private static final long SECOND = 1_000_000_000L;
  /** For how long after a fault leaders move, until they are spread again: half a minute until a process that was started gets any, and a lease of 5 s for each after the first. */
  private static final long SPREAD_NANOS = 45_000_000_000L;
  private static final int RESENDS_OF_A_FAULT = 3;

  /** How long a broker may take to end a connection whose session has moved to another one. */
  private static final long TAKEOVER_NANOS = 10_000_000_000L;

  /** What names the broker that is at fault. */
  private static final Set<Deed> STRIKES = Set.of(Deed.STRUCK, Deed.STRUCK_FRONTEND, Deed.CUT, Deed.KILLED);

  /** Later than all times, also with some time added. */
  private static final long NO_END = Long.MAX_VALUE / 2;

  /** By how much rows move clocks. */
  public static final long CLOCK_STEP_NANOS = 600_000_000_000L;

  /** All that the publisher of a message knows about it. */
  public static final class Sent {
    public final Published first;
    public int sends = 1;
    @Nullable Acknowledged acknowledged;

    Sent(Published first) {
      this.first = first;
    }

    /** Whether it was acknowledged to its publisher with success. */
    public boolean safe() {
      return first.qos() > 0 && acknowledged != null && acknowledged.success();
    }

    public long acknowledgedNanos() {
      return acknowledged == null ? Long.MAX_VALUE : acknowledged.nanos();
    }
  }

  public final List<Event> events;
  public final Map<MessageId, Sent> sent = new LinkedHashMap<>();
  final Map<String, List<Sent>> topics = new LinkedHashMap<>();
  public final Map<MessageId, Event.WillSet> wills = new LinkedHashMap<>();
  public final List<Session> sessions = new ArrayList<>();
  public final Map<String, List<Event>> lives = new LinkedHashMap<>();
  public final long drainedNanos;
  private final List<Event.Broker> deeds = new ArrayList<>();
  private final List<Disturbance> disturbances;
  private final List<Span> unrecorded;
  private final long nodes;
  private final Map<String, Session> open = new HashMap<>();
  private final Map<Link, Integer> endedInFaults = new ConcurrentHashMap<>();

  public Facts(List<Event> events) {
    this.events = events;
    events.forEach(this::take);
    disturbances = disturbances();
    unrecorded = unrecorded();
    nodes = deeds.stream().filter(deed -> deed.deed() == Deed.STARTED).map(Event.Broker::node).distinct().count();
    drainedNanos =
        deeds.stream().filter(deed -> deed.deed() == Deed.DRAINED).mapToLong(Event.Broker::nanos).findFirst().orElse(Long.MAX_VALUE - 1);
  }

  private void take(Event event) {
    switch (event) {
      case Event.Broker deed -> deeds.add(deed);
      case Published it -> {
        var now = new Sent(it);
        var before = sent.putIfAbsent(it.id(), now);
        if (before != null) before.sends++;
        else topics.computeIfAbsent(it.topic(), _ -> new ArrayList<>()).add(now);
      }
      case Acknowledged it -> {
        var of = sent.get(it.id());
        if (of != null) of.acknowledged = it;
      }
      case Event.WillSet it -> {
        wills.put(new MessageId(it.client(), it.connection()), it);
        life(it.client()).add(it);
      }
      case Event.Connected it -> connected(it);
      case Event.ConnectFailed it -> {
        life(it.client()).add(it);
        if (it.cleanStart()) finish(it.client(), it.askedNanos());
      }
      case Event.Ended it -> {
        life(it.client()).add(it);
        var session = open.get(it.client());
        if (session == null) return;
        session.ends.put(it.connection(), it);
        if (!session.durable() && session.connections.getLast().connection() == it.connection()) finish(it.client(), it.nanos());
      }
      case Event.SubscribeAsked it -> session(it.client()).ifPresent(session -> session.subscribing(it.filter(), it.nanos()));
      case Event.Subscribed it -> session(it.client()).ifPresent(session -> session.subscribed(it));
      case Event.UnsubscribeAsked it -> session(it.client()).ifPresent(session -> session.unsubscribing(it.filter(), it.nanos()));
      case Event.Unsubscribed it -> session(it.client()).ifPresent(session -> session.unsubscribed(it.filter(), it.nanos()));
      case Event.Received it -> session(it.client()).ifPresent(session -> session.received.add(it));
      case Event.ReceivedBehind it -> life(it.client()).add(it);
      case Event.Answered it -> session(it.client()).ifPresent(session -> session.answered.add(it));
    }
  }

  /** A connection by its number. */
  public Optional<Connected> connected(String client, int connection) {
    return lives.getOrDefault(client, List.of()).stream()
        .filter(each -> each instanceof Connected it && it.connection() == connection)
        .map(each -> (Connected) each)
        .findFirst();
  }

  /** All messages on topics that a filter matches. */
  List<Sent> matching(String filter) {
    if (!filter.contains("#") && !filter.contains("+")) return topics.getOrDefault(filter, List.of());
    var all = new ArrayList<Sent>();
    topics.forEach((topic, messages) -> all.addAll(Filters.matches(filter, topic) ? messages : List.of()));
    return all;
  }

  private void connected(Event.Connected it) {
    life(it.client()).add(it);
    if (!it.sessionPresent()) finish(it.client(), it.askedNanos());
    var session =
        open.computeIfAbsent(
            it.client(),
            _ -> {
              var begun = new Session(it);
              sessions.add(begun);
              return begun;
            });
    session.connections.add(it);
  }

  private void finish(String client, long nanos) {
    var session = open.remove(client);
    if (session != null) session.endNanos = nanos;
  }

  private Optional<Session> session(String client) {
    return Optional.ofNullable(open.get(client));
  }

  private List<Event> life(String client) {
    return lives.computeIfAbsent(client, _ -> new ArrayList<>());
  }

  public boolean killedBetween(long fromNanos, long untilNanos) {
    return deeds.stream().anyMatch(deed -> deed.deed() == Deed.KILLED && deed.nanos() >= fromNanos && deed.nanos() <= untilNanos);
  }

  /**
   * Whether a will that was sent in between may come twice to a durable session (D7): a broker that runs alone has crashed; in a cluster, what may have led
   * the sessions did not know yet that all others record wills.
   */
  public boolean willMayComeTwice(long fromNanos, long untilNanos) {
    if (!isCluster()) return killedBetween(fromNanos, untilNanos);
    return unrecorded.stream().anyMatch(each -> each.fromNanos <= untilNanos && each.untilNanos >= fromNanos);
  }

  /** Whether a fault was active at any time in between, so that no time limits apply. */
  public boolean disturbedBetween(long fromNanos, long untilNanos) {
    return disturbances.stream().anyMatch(each -> each.fromNanos <= untilNanos && each.untilNanos >= fromNanos);
  }

  boolean isCluster() {
    return nodes > 1;
  }

  /**
   * How often the nodes of a cluster may have sent a message of QoS 1 to each other again, between two times: when a fault
   * changes the leader of the routes and that of the sessions, and when leaders are spread again for a while after it.
   */
  public int resendsBetween(long fromNanos, long untilNanos) {
    if (!isCluster()) return 0;
    long faults = disturbances.stream().filter(each -> each.fromNanos <= untilNanos && each.untilNanos + SPREAD_NANOS >= fromNanos).count();
    return (int) faults * RESENDS_OF_A_FAULT;
  }

  /**
   * The connections of a message's publisher within which its order holds, as a number: with QoS 0 in a cluster each is for itself, and else they are
   * all together, but for a publisher without a session whose broker has ended its connection in a fault of that broker: it sends nothing again, and what the broker
   * still delivers may come behind what the next one has taken (D4).
   */
  public int orderedWithin(Sent message) {
    if (!isCluster()) return 0;
    int connection = message.first.connection();
    if (message.first.qos() == 0) return connection;
    return endedInFaults.computeIfAbsent(new Link(message.first.client(), connection), this::endedInFaults);
  }

  /** A connection of a client. */
  private record Link(String client, int connection) {}

  /** Whether the publisher of a message has a session that outlives its connections. */
  boolean hasSession(Sent message) {
    return hasSession(message.first.client());
  }

  private boolean hasSession(String client) {
    return lives.getOrDefault(client, List.of()).stream().anyMatch(each -> each instanceof Event.Connected it && it.expirySeconds() > 0);
  }

  /** How many of the connections before this one have ended since their broker was at fault; none when the publisher has a session. */
  private int endedInFaults(Link link) {
    var life = lives.getOrDefault(link.client, List.of());
    if (hasSession(link.client)) return 0;
    var brokers = new HashMap<Integer, Integer>();
    int ended = 0;
    for (var each : life) {
      if (each instanceof Event.Connected it) brokers.put(it.connection(), it.node());
      if (each instanceof Event.Ended it && it.connection() < link.connection && it.how() == Event.End.BY_BROKER && isAtFault(brokers.getOrDefault(it.connection(), 0), it.nanos())) ended++;
    }
    return ended;
  }

  /** Whether a broker was killed, paused, cut off or struck otherwise in a fault that is active at a time. */
  private boolean isAtFault(int node, long nanos) {
    return activeAt(nanos).anyMatch(each -> isStruck(node, each.fromNanos, nanos));
  }

  private Stream<Disturbance> activeAt(long nanos) {
    return disturbances.stream().filter(each -> each.fromNanos <= nanos && each.untilNanos >= nanos);
  }

  /** Whether a fault struck a broker between two times. */
  private boolean isStruck(int node, long fromNanos, long untilNanos) {
    return deeds.stream().anyMatch(deed -> deed.node() == node && STRIKES.contains(deed.deed()) && deed.nanos() >= fromNanos && deed.nanos() <= untilNanos);
  }

  /**
   * Whether a broker may not have got a DISCONNECT, or not have recorded it (D7):
   * <ul>
   * <li>A fault struck the broker within a second, and before the client noticed the end of the connection.
   * <li>A fault had struck the broker since CONNECT and was active, and the broker ended connections in it, as without a lease.
   * <li>The broker was cut off from clients, and may have ended the connection in the cut. The client learns of that, and even of its CONNACK, up to as long after the cut as that lasted.
   * <li>The broker sent DISCONNECT at that time too, because it may not keep its connections. MQTT 3 has no such packet, so clients of MQTT 5 tell.
   * </ul>
   */
  public boolean mayHaveMissed(Event.Ended disconnect) {
    return endsWhatItMayNotKeep(disconnect) || connected(disconnect.client(), disconnect.connection()).filter(at -> mayHaveMissed(at, disconnect)).isPresent();
  }

  private boolean mayHaveMissed(Connected at, Event.Ended disconnect) {
    long asked = disconnect.askedNanos();
    return isStruck(at.node(), asked, Math.min(disconnect.nanos(), asked + SECOND))
        || isAtFaultSince(at, asked)
        || cuts(at.node()).anyMatch(cut -> at.askedNanos() <= cut.untilNanos && cut.fromNanos <= asked && asked <= cut.latestPacket())
        || (at.level() < 5 && endsOthers(at.node(), disconnect));
  }

  private static boolean endsWhatItMayNotKeep(Event.Ended end) {
    return end.reason() == SERVER_BUSY || end.reason() == SERVER_SHUTTING_DOWN;
  }

  /** Whether a broker has ended connections that it may not keep in a fault, a second before a DISCONNECT at the earliest, and a second after the client noticed the end of its connection at the latest. */
  private boolean endsOthers(int node, Event.Ended disconnect) {
    return disturbedBetween(disconnect.askedNanos(), disconnect.nanos()) && hasEnded(node, disconnect.askedNanos() - SECOND, disconnect.nanos(), Facts::endsWhatItMayNotKeep);
  }

  /** Whether a fault that is active at a time struck the broker of a connection after its CONNECT, and ended connections there. */
  private boolean isAtFaultSince(Connected connection, long nanos) {
    return activeAt(nanos)
        .anyMatch(each -> isStruck(connection.node(), Math.max(each.fromNanos, connection.askedNanos()), nanos) && hasEnded(connection.node(), each.fromNanos, each.untilNanos, end -> end.how() == Event.End.BY_BROKER));
  }

  /** Whether a broker has ended a connection between two times, or a little later, in a certain way. */
  private boolean hasEnded(int node, long fromNanos, long untilNanos, Predicate<Event.Ended> way) {
    return lives.values().stream()
        .flatMap(List::stream)
        .anyMatch(each -> each instanceof Event.Ended end && fromNanos <= end.nanos() && end.nanos() - SECOND <= untilNanos && way.test(end) && connected(end.client(), end.connection()).filter(at -> at.node() == node).isPresent());
  }

  /** The faults in which clients did not reach a broker. */
  private Stream<Disturbance> cuts(int node) {
    return deeds.stream()
        .filter(deed -> deed.node() == node && deed.deed() == Deed.UNREACHABLE)
        .flatMap(deed -> disturbances.stream().filter(each -> each.fromNanos <= deed.nanos() && each.untilNanos >= deed.nanos()));
  }

  /** Whether clients did not reach a broker in a fault that was active between two times; the fault may have begun before. */
  boolean unreachableBetween(int node, long fromNanos, long untilNanos) {
    return cuts(node).anyMatch(each -> each.fromNanos <= untilNanos && each.untilNanos >= fromNanos);
  }

  /** The first time, from a time on, after which no fault is active for a while. */
  public long quietAfter(long fromNanos, long whileNanos) {
    long quiet = fromNanos;
    for (var each : disturbances) if (each.fromNanos <= quiet + whileNanos && each.untilNanos >= quiet) quiet = each.untilNanos;
    return quiet;
  }

  /**
   * The earliest time at which the broker may have counted a connection as ended: a fault may have kept either side from
   * noticing it. CONNACK may come out of a cut, after the broker has given the client up.
   */
  long earliestEnd(Event.Connected connected, Event.Ended ended) {
    return disturbedBetween(connected.askedNanos(), ended.nanos()) ? connected.askedNanos() : ended.nanos();
  }

  /**
   * By how much the clocks of two brokers may differ at a time: one may have begun with a wall clock that was moved while it was away. So by D11 and D12 a session or a message ends, and a
   * delayed will is sent, by so much earlier or later. A step of the clock of a broker that runs makes no difference.
   */
  long clocksApartNanos(long nanos) {
    boolean apart = deeds.stream().anyMatch(deed -> deed.deed() == Deed.CLOCK_MOVED_WHILE_AWAY && deed.nanos() <= nanos);
    return apart ? CLOCK_STEP_NANOS : 0;
  }

  /**
   * The latest time at which the broker of a connection must have ended it, when its session has moved to another one. A broker that is cut off or stands still cannot tell its client, and what
   * it has written comes up to as long after the cut as that lasted.
   */
  public long latestEnd(Connected connection, long movedNanos) {
    long quiet = quietAfter(movedNanos, TAKEOVER_NANOS);
    long sentAgain =
        cuts(connection.node())
            .filter(each -> each.untilNanos <= quiet)
            .mapToLong(Disturbance::latestPacket)
            .max()
            .orElse(quiet);
    return Math.max(quiet, sentAgain) + TAKEOVER_NANOS;
  }

  /** The same for all connections, when their sessions have moved at a time. */
  public long latestEnds(long movedNanos) {
    return lives.values().stream()
        .flatMap(List::stream)
        .filter(Connected.class::isInstance)
        .mapToLong(each -> latestEnd((Connected) each, movedNanos))
        .max()
        .orElse(movedNanos);
  }

  private record Disturbance(long fromNanos, long untilNanos) {
    /** The latest time at which TCP sends what was not answered in between: it doubles its pauses. */
    long latestPacket() {
      return untilNanos == NO_END ? NO_END : untilNanos + (untilNanos - fromNanos);
    }
  }

  /** In their order; the last one may have no end. */
  private List<Disturbance> disturbances() {
    var all = new ArrayList<Disturbance>();
    long since = -1;
    for (var deed : deeds) {
      switch (deed.deed()) {
        case KILLED, STRUCK, STRUCK_FRONTEND -> {
          if (since < 0) since = deed.nanos();
        }
        case HEALED -> {
          if (since >= 0) all.add(new Disturbance(since, deed.nanos()));
          since = -1;
        }
        case LAUNCHED, STARTED, RECORDS_WILLS, RECORDS_NO_WILLS, CUT, UNREACHABLE, MENDED, CLOCK_MOVED, CLOCK_MOVED_WHILE_AWAY, DRAINED -> {}
      }
    }
    if (since >= 0) all.add(new Disturbance(since, NO_END));
    return all;
  }

  private record Span(long fromNanos, long untilNanos) {}

  /** When a broker that can lead ranges ran and did not know that all others record wills. A frontend leads none. */
  private List<Span> unrecorded() {
    var frontends = deeds.stream().filter(deed -> deed.deed() == Deed.STRUCK_FRONTEND).map(Event.Broker::node).collect(Collectors.toSet());
    var all = new ArrayList<Span>();
    var since = new HashMap<Integer, Long>();
    for (var deed : deeds) {
      if (frontends.contains(deed.node())) continue;
      if (deed.deed() == Deed.LAUNCHED || deed.deed() == Deed.RECORDS_NO_WILLS) since.putIfAbsent(deed.node(), deed.nanos());
      var from = deed.deed() == Deed.RECORDS_WILLS || deed.deed() == Deed.KILLED ? since.remove(deed.node()) : null;
      if (from != null) all.add(new Span(from, deed.nanos()));
    }
    since.values().forEach(from -> all.add(new Span(from, NO_END)));
    return all;
  }
}
