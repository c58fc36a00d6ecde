package dunlin.transport.trace;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import java.net.SocketAddress;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** One trace on this node, with its last events. */
public final class Trace implements Follower {
  /*
   * Owner: any thread notes events, mostly event loops; threads of operators read. Both hold the lock for a few operations.
   * Bounds: EVENTS_MAX events of BYTES_MAX bytes. Full: the oldest gives way, and a reader who comes too late learns how many are missing. EVENTS_A_SECOND
   * events are taken in each second, so that a trace of everything does not slow the node down. The rest of a second is left out and counted, before anything
   * is made of it; so what is taken has no gaps but at ends of seconds.
   */
  static final int EVENTS_MAX = 10_000;
  static final long BYTES_MAX = 4 << 20;
  static final int EVENTS_A_SECOND = 2_000;

  /** The hop at which messages come in. */
  private static final String PUBLISH = "publish";

  /** What a hop did with a message. */
  public enum Step {
    /** It has come to the hop: a PUBLISH from its client, or a copy for one session. */
    RECEIVED,
    /** The publisher gets an error at once, or its connection is closed; the reason is the reason code. The message goes no further. */
    REFUSED,
    /** It has become the retained message of its topic, or has removed that with an empty payload. */
    RETAINED,
    /** It could not become the retained message; the reason is the reason code. */
    NOT_RETAINED,
    /** It was handed to the lane, which leads to the routes. */
    HANDED_ON,
    /** A topic filter matches, so it goes to a node with connected clients or to the inboxes; the reason names both. */
    FORWARDED,
    /** No topic filter matches. */
    UNMATCHED,
    /** It is in the inbox of a session, or waits for the members of a group, who are the reason then. */
    STORED,
    /** All destinations have answered; the reason is the reason code for the publisher. */
    ANSWERED,
    /** No member of a shared subscription has room; it waits for one. */
    WAITS,
    /** It was written to the client's connection, and waits for the acknowledgement. */
    SENT,
    /** It waits for the client: for the window of messages in flight, or for the socket. */
    QUEUED,
    /** Sent with QoS 0, or acknowledged by the client. */
    DELIVERED,
    /** It is not sent to this client and remains with its source: in the inbox, or for another member of the group. */
    RETURNED,
    /** It was not meant for this session after all, so it is in no books; the reason is the rule. */
    LEFT_OUT,
    /** It is counted as dropped; the reason is that of the counter. */
    DROPPED;

    /** As lines of a trace spell it. */
    public String label() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** The client at a hop: the publisher where a message comes in, the subscriber where it goes out. */
  public interface Party {
    String clientId();

    /** Where its connection comes from, also behind a proxy that says so; null when this node does not have its connection. */
    @Nullable SocketAddress address();

    /** A client of which only the client identifier is known. */
    static Party named(String clientId) {
      return new Named(clientId);
    }

    /** A client without a connection here. */
    record Named(String clientId) implements Party {
      @Override
      public @Nullable SocketAddress address() {
        return null;
      }
    }
  }

  /**
   * What one hop did with one message.
   *
   * @param atMicros microseconds since 1970, by the clock of the node
   * @param hop as the counters of drops name it
   * @param reason of the step; empty for none
   * @param topic its first {@link #TEXT_MAX} characters, as of the other texts
   * @param publisher client identifier; empty for the node itself and the application that embeds it
   * @param client client identifier of the subscriber at hops behind the routes; empty where there is none or it is not known
   * @param qos with which it was published
   * @param retain whether it was published with the flag RETAIN
   * @param payloadBytes size of its payload
   */
  public record Event(
      long atMicros, String hop, String step, String reason, String topic, String publisher, String client, int qos, boolean retain, int payloadBytes) {
    /** The most characters of a text; the rest is cut off. */
    static final int TEXT_MAX = 256;

    /** Estimated memory of an event apart from its texts. */
    private static final int EVENT_BYTES = 256;

    static Event of(long atMicros, String hop, Step step, String reason, Publication message, String client) {
      return new Event(
          atMicros, hop, step.label(), cut(reason), cut(message.topic()), cut(message.publisher().clientId()), cut(client), message.qos().code(), message.retain(),
          message.payloadLength());
    }

    static String cut(String text) {
      return text.length() <= TEXT_MAX ? text : text.substring(0, TEXT_MAX);
    }

    /** Estimated memory. */
    long bytes() {
      return EVENT_BYTES + 2L * (reason.length() + topic.length() + publisher.length() + client.length());
    }
  }

  private final String id;
  private final TraceCriteria criteria;
  private final TraceCriteria.Question question;
  private final InstantSource wall;
  private final long begunAtMillis;
  private final long endsAtMillis;
  private final long endsAtNanos;

  private final SecondLimit limit = new SecondLimit(EVENTS_A_SECOND);
  private final LongAdder leftOut = new LongAdder();

  private volatile boolean running = true; // written by the tracer, under its lock

  /** An event is at the remainder of its number. */
  @GuardedBy("this")
  private final @Nullable Event[] ring = new Event[EVENTS_MAX];

  @GuardedBy("this")
  private long bytes;

  /** The number of the oldest event that is there. */
  @GuardedBy("this")
  private long first;

  /** How many events were taken, which is the number of the next one. */
  @GuardedBy("this")
  private long taken;

  Trace(String id, TraceCriteria criteria, InstantSource wall, long millis, long endsAtNanos) {
    this.id = id;
    this.criteria = criteria;
    this.question = criteria.question();
    this.wall = wall;
    this.begunAtMillis = wall.millis();
    this.endsAtMillis = begunAtMillis + millis;
    this.endsAtNanos = endsAtNanos;
  }

  /**
   * A part of the events.
   *
   * @param next the number of the event behind them
   * @param lost how many before them have given way already
   * @param leftOut how many were left out since the beginning because there were too many in a second
   */
  public record Part(List<Event> events, long next, long lost, long leftOut) {
    public Part {
      events = List.copyOf(events);
    }
  }

  public String id() {
    return id;
  }

  public String tenant() {
    return criteria.tenant();
  }

  /** Client identifier of publisher or subscriber; empty for any. */
  public String client() {
    return criteria.client();
  }

  /** Topic filter; empty for any topic. */
  public String topic() {
    return criteria.topic();
  }

  /** IP address of the client; empty for any. */
  public String address() {
    return criteria.address();
  }

  /** Milliseconds since 1970. */
  public long begunAtMillis() {
    return begunAtMillis;
  }

  /** When it ends, unless it is ended before; milliseconds since 1970. */
  public long endsAtMillis() {
    return endsAtMillis;
  }

  public boolean running() {
    return running;
  }

  void end() {
    running = false;
  }

  boolean isDue(long nanos) {
    return nanos - endsAtNanos >= 0;
  }

  @Override
  public boolean meets(Publication message, @Nullable Party party) {
    return question.meets(message, party);
  }

  @Override
  public boolean concerns(Publication message) {
    return question.concerns(message);
  }

  @Override
  public void add(String hop, Step step, String reason, Publication message, String client) {
    Instant now = wall.instant();
    if (!limit.admits(now.getEpochSecond())) {
      leftOut.increment();
      return;
    }
    Event event = Event.of(ChronoUnit.MICROS.between(Instant.EPOCH, now), hop, step, reason, message, client);
    synchronized (this) {
      if (taken - first == EVENTS_MAX) giveWay();
      ring[place(taken++)] = event;
      bytes += event.bytes();
      while (bytes > BYTES_MAX) giveWay();
    }
  }

  /** Whether a message comes in at a step: each has one such, on the node that its publisher is connected to. */
  static boolean comesIn(String hop, Step step) {
    return step == Step.RECEIVED && hop.equals(PUBLISH);
  }

  private static int place(long number) {
    return (int) (number % EVENTS_MAX);
  }

  private synchronized void giveWay() {
    int place = place(first++);
    bytes -= requireNonNull(ring[place]).bytes();
    ring[place] = null;
  }

  /** How many events were taken so far. */
  public synchronized long taken() {
    return taken;
  }

  /** How many events were left out because there were too many in a second. */
  public long leftOut() {
    return leftOut.sum();
  }

  /**
   * The first events from a number on.
   *
   * @param from of the first one, from 0; more than there were is as many as there were
   * @param max the most events
   */
  public synchronized Part read(long from, int max) {
    long begin = Math.clamp(from, first, taken);
    long lost = Math.clamp(first - from, 0, first);
    long end = begin + Math.min(max, taken - begin);
    List<Event> part = new ArrayList<>();
    for (long number = begin; number < end; number++) part.add(requireNonNull(ring[place(number)]));
    return new Part(part, end, lost, leftOut());
  }
}
