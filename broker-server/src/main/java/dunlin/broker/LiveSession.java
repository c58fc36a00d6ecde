package dunlin.broker;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.inbox.InboxClient;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A session with its client connected: from CONNACK to the end of the connection. */
final class LiveSession {
  /*
   * Owner: the connection's event loop; load, loop and what is final may be read by all.
   * Bounds: those of its parts, and OPERATIONS_MAX packets that wait for a store.
   * Failure: when the connection ends, end() hands everything back; a session that was taken over meanwhile is fenced by its
   *   epoch, so what it still sends to the stores changes nothing.
   */
  /** The load of a session that takes nothing more at the moment. */
  static final int REFUSES = Integer.MAX_VALUE;

  private static final int OPERATIONS_MAX = 256;
  private static final VarHandle LOAD;

  static {
    try {
      LOAD = MethodHandles.lookup().findVarHandle(LiveSession.class, "load", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Frontend frontend;
  private final Loop loop;
  private final Connection connection;
  private final ProtocolVersion version;
  private final SessionRef ref;
  private final Publisher publisher;
  private final boolean durable;
  private final InboundPublishes inbound;
  private final Outbound outbound;
  private final Subscriptions subscriptions;
  private final RetainedReader retained;
  private final @Nullable InboxReader inbox;

  private boolean ended;
  private int operations;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // by LOAD: the loop writes it, the others read it, without order
  private int load;

  // What merge() has gathered for the one copy of a message that matched several of the session's filters.
  private @Nullable SubscriptionOptions mergedOptions;
  private int[] mergedIdentifiers = {};

  LiveSession(
      Connection connection,
      ProtocolVersion version,
      Publisher publisher,
      boolean durable,
      int clientReceiveMaximum,
      InboxClient.Connected connected) {
    this.connection = connection;
    this.loop = connection.loop();
    this.frontend = loop.frontend();
    this.version = version;
    this.ref = connected.session();
    this.publisher = publisher;
    this.durable = durable;
    FrontendSettings settings = frontend.settings();
    this.inbound = new InboundPublishes(this, settings.receiveMaximum(), connected.receivedPacketIds());
    this.outbound = new Outbound(this, connection, clientReceiveMaximum, settings);
    this.retained = new RetainedReader(this, outbound);
    this.subscriptions = new Subscriptions(this, retained, connected.subscriptions());
    this.inbox =
        durable ? new InboxReader(this, outbound, connected.firstUnacknowledged(), connected.nextSequence()) : null;
  }

  Frontend frontend() {
    return frontend;
  }

  Loop loop() {
    return loop;
  }

  Connection connection() {
    return connection;
  }

  ProtocolVersion version() {
    return version;
  }

  SessionRef ref() {
    return ref;
  }

  Publisher publisher() {
    return publisher;
  }

  /** Whether the session outlives its connection, with its inbox in the session tier. */
  boolean durable() {
    return durable;
  }

  InboundPublishes inbound() {
    return inbound;
  }

  Outbound outbound() {
    return outbound;
  }

  Subscriptions subscriptions() {
    return subscriptions;
  }

  /** Only for a durable session. */
  InboxReader inbox() {
    if (inbox == null) throw new IllegalStateException("no inbox: " + ref.clientId());
    return inbox;
  }

  boolean ended() {
    return ended;
  }

  /** Whether nothing is stored that was not taken from the inbox. */
  boolean caughtUp() {
    return inbox == null || inbox.caughtUp();
  }

  /** How much waits for the client, for choosing between members of a group; any thread, may be stale. */
  int load() {
    return (int) LOAD.getOpaque(this);
  }

  void updateLoad() {
    boolean takes = !ended && outbound.hasRoom(QoS.AT_MOST_ONCE, 0) && outbound.hasRoom(QoS.AT_LEAST_ONCE, 0);
    long waiting = outbound.inFlight() + outbound.queued() + connection.waitingBytes() / 256;
    LOAD.setOpaque(this, takes ? (int) Math.min(waiting, REFUSES - 1) : REFUSES);
  }

  /** Offers a message that one plain subscription matched. */
  void offer(Publication message, SubscriptionOptions options, int[] identifiers) {
    if (ended || (options.noLocal() && isOwn(message))) return;
    QoS qos = message.qos().min(options.maximumQoS());
    boolean retain = message.retain() && options.retainAsPublished();
    if (qos == QoS.AT_MOST_ONCE) {
      outbound.sendQoS0(message, retain, identifiers);
    } else {
      outbound.offer(new Outgoing(message, qos, retain, identifiers, null));
    }
  }

  /** Offers a message as a member of a group; answers whether it takes it. */
  boolean offerShared(Publication message, Subscriber member) {
    if (ended) return false;
    SubscriptionOptions options = member.options();
    QoS qos = message.qos().min(options.maximumQoS());
    if (!outbound.hasRoom(qos, message.body().length)) {
      updateLoad();
      return false;
    }
    boolean retain = message.retain() && options.retainAsPublished();
    if (qos == QoS.AT_MOST_ONCE) {
      outbound.sendQoS0(message, retain, member.identifiers());
    } else {
      outbound.offer(new Outgoing(message, qos, retain, member.identifiers(), member.filter));
    }
    return true;
  }

  /** Notes one of several subscriptions that a message matched; true the first time, until {@link #offerMerged}. */
  boolean merge(Publication message, Subscriber subscriber) {
    SubscriptionOptions options = subscriber.options();
    // Left out here, so that its QoS and identifier do not show in the copy that another subscription brings.
    if (options.noLocal() && isOwn(message)) return false;
    SubscriptionOptions before = mergedOptions;
    if (before == null) {
      mergedOptions = options;
      mergedIdentifiers = subscriber.identifiers();
      return true;
    }
    QoS qos = before.maximumQoS().code() >= options.maximumQoS().code() ? before.maximumQoS() : options.maximumQoS();
    boolean retain = before.retainAsPublished() || options.retainAsPublished();
    mergedOptions = new SubscriptionOptions(qos, false, retain, 0, 0);
    mergedIdentifiers = concat(mergedIdentifiers, subscriber.identifiers());
    return false;
  }

  int[] mergedIdentifiers() {
    return mergedIdentifiers;
  }

  /** What the merged subscriptions ask for together; nothing is merged any more. */
  @Nullable SubscriptionOptions takeMerged() {
    SubscriptionOptions options = mergedOptions;
    mergedOptions = null;
    return options;
  }

  /** Offers the one copy of a message whose subscriptions were merged. */
  void offerMerged(Publication message) {
    SubscriptionOptions options = takeMerged();
    if (options != null) offer(message, options, mergedIdentifiers);
  }

  private static int[] concat(int[] some, int[] others) {
    if (others.length == 0) return some;
    if (some.length == 0) return others;
    int[] all = Arrays.copyOf(some, some.length + others.length);
    System.arraycopy(others, 0, all, some.length, others.length);
    return all;
  }

  private boolean isOwn(Publication message) {
    return message.publisher().equals(publisher);
  }

  /** One of the client's packets waits for a store; with too many of them the client is not read from. */
  void operationBegins() {
    if (++operations == OPERATIONS_MAX) connection.hold(Connection.Hold.OPERATIONS);
  }

  void operationEnds() {
    if (--operations == OPERATIONS_MAX / 2) connection.resume(Connection.Hold.OPERATIONS);
  }

  /** The client is done with a message of its inbox. */
  void acknowledged(long sequence) {
    if (inbox != null) inbox.acknowledge(sequence);
  }

  /** Something that waited has gone out: there may be room for what waits further back. */
  void drained() {
    if (inbox != null) inbox.fetch();
    retained.read();
  }

  /** The socket takes more again. */
  void writableAgain() {
    outbound.sendQueued();
    drained();
    updateLoad(); // also when nothing was written: a group that found no room may use this client again
  }

  /** At the end of a round in which something was sent or acknowledged. */
  void endRound() {
    if (inbox != null) inbox.flushAcknowledged();
    updateLoad();
  }

  /** The connection has ended. */
  void end() {
    if (ended) return;
    ended = true;
    updateLoad();
    subscriptions.end();
    if (inbox != null) inbox.flushAcknowledged();
    outbound.end();
  }
}
