package dunlin.broker.session;

import dunlin.broker.access.Grant;
import dunlin.broker.access.Subject;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.fanout.Recipient;
import dunlin.broker.fanout.Subscriber;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.Tiers;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.SocketAddress;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A session with its client connected: from CONNACK to the end of the connection. */
public final class LiveSession implements Recipient, Party {
  /*
   * Owner: the connection's event loop; any thread may read load, room, loop and final fields. Many clients only
   * publish, only subscribe, or do neither for hours, so each part is created when it is first needed; until then it is
   * null, which means that it has no content. A durable session has the parts for its stored state from the beginning.
   * Bounds: those of its parts, and OPERATIONS_MAX packets that wait for a store, with OPERATION_BYTES_MAX bytes,
   * exceeded by one packet at most. The bytes count in the node's budget for requests, too.
   * Failure: when the connection ends, end() returns everything but the bytes of what the session tier has not answered, which it always does. Else
   * clients that connect, subscribe and leave would have no bound. A session that was taken over is fenced by its epoch,
   * so its later calls to the stores change nothing.
   */
  private static final int OPERATIONS_MAX = 256;
  private static final int OPERATION_BYTES_MAX = 256 * 1_024;
  private static final int[] NONE = {};
  private static final VarHandle LOAD;
  private static final VarHandle ROOM;

  static {
    try {
      LOAD = MethodHandles.lookup().findVarHandle(LiveSession.class, "load", int.class);
      ROOM = MethodHandles.lookup().findVarHandle(LiveSession.class, "room", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final LoopSessions home;
  private final ClientConnection connection;
  private final Publisher publisher;
  private final long epoch;
  private final long birth;
  private final int clientReceiveMaximum;
  private final @Nullable InboxReader inbox;
  private final @Nullable SessionAccess access;

  private @Nullable InboundPublishes inbound;
  private @Nullable Outbound outbound;
  private @Nullable Subscriptions subscriptions;
  private @Nullable RetainedReader retained;
  private boolean ended;
  private boolean forsaken;
  private int operations;
  private int operationBytes;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // through LOAD: the loop writes it, other threads read it, without ordering
  private int load;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // used by ROOM
  private int room = Integer.MAX_VALUE;

  /** @param access what its client may do; null if everything */
  public LiveSession(
      ClientConnection connection,
      LoopSessions home,
      boolean durable,
      int clientReceiveMaximum,
      InboxClient.Connected connected,
      @Nullable SessionAccess access) {
    this.connection = connection;
    this.home = home;
    this.access = access;
    // Uses the text objects of the session tier, so that there is one copy of them in the same process.
    this.publisher = new Publisher(connected.session().tenant(), connected.session().clientId());
    this.epoch = connected.session().epoch();
    this.birth = connected.birth();
    this.clientReceiveMaximum = clientReceiveMaximum;
    if (connected.receivedPacketIds().length > 0) inbound = newInbound(connected.receivedPacketIds(), connected.openExchanges());
    if (!connected.subscriptions().isEmpty()) subscriptions = new Subscriptions(this, connected.subscriptions());
    this.inbox =
        durable ? new InboxReader(this, outbound(), connected.firstUnacknowledged(), connected.nextSequence()) : null;
  }

  /** The state that it shares with the other sessions of its loop. */
  LoopSessions home() {
    return home;
  }

  @Override
  public Loop loop() {
    return home.loop();
  }

  FrontendSettings settings() {
    return loop().settings();
  }

  Tiers tiers() {
    return loop().tiers();
  }

  public ClientConnection connection() {
    return connection;
  }

  public ProtocolVersion version() {
    return connection.writer().version();
  }

  /** The session as the session tier knows it; created at each call. */
  public SessionRef ref() {
    return new SessionRef(publisher.tenant(), publisher.clientId(), epoch);
  }

  /** A number for this session and connection, for {@link dunlin.transport.Terms#fence}. Never 0. */
  long fence() {
    long number = epoch ^ (long) publisher.clientId().hashCode() << 32;
    return number == 0 ? 1 : number;
  }

  /** The session's owner epoch. */
  public long epoch() {
    return epoch;
  }

  /** The epoch of the session's first connection. */
  long birth() {
    return birth;
  }

  @Override
  public String clientId() {
    return publisher.clientId();
  }

  @Override
  public @Nullable SocketAddress address() {
    return connection.address();
  }

  public Publisher publisher() {
    return publisher;
  }

  /** What its client may do; null if everything. */
  @Nullable SessionAccess access() {
    return access;
  }

  /** Whether access rules keep a message from the client. */
  boolean withholds(Publication message, QoS qos, boolean retain) {
    return access != null && !access.mayReceive(message, qos, retain, !durable());
  }

  /**
   * Goes on with another policy of the same client, because it has authenticated again.
   *
   * @return false if there was none, so that its messages have not been checked
   */
  public boolean replaceAccess(Subject client, Grant grant) {
    if (access == null) return false;
    access.replace(client, grant);
    checkAccess();
    return true;
  }

  /** Ends subscriptions that access rules do not allow any more: of a session that is resumed, or after a change of the rules. */
  public void checkAccess() {
    if (access == null || ended) return;
    access.beginAgain();
    if (subscriptions != null) subscriptions.checkAccess(access);
    if (outbound != null && outbound.queued() > 0) access.checkAll();
  }

  /** Whether the session outlives its connection, with its inbox in the session tier. */
  public boolean durable() {
    return inbox != null;
  }

  public InboundPublishes inbound() {
    InboundPublishes present = inbound;
    if (present == null) inbound = present = newInbound(NONE, List.of());
    return present;
  }

  private InboundPublishes newInbound(int[] receivedPacketIds, List<OpenExchange> openExchanges) {
    return new InboundPublishes(this, settings().connections().receiveMaximum(), receivedPacketIds, openExchanges);
  }

  public Outbound outbound() {
    Outbound present = outbound;
    if (present == null) outbound = present = new Outbound(this, connection, clientReceiveMaximum, settings());
    return present;
  }

  public Subscriptions subscriptions() {
    Subscriptions present = subscriptions;
    if (present == null) subscriptions = present = new Subscriptions(this, List.of());
    return present;
  }

  /** Requests the retained messages for a new subscription. */
  void readRetained(TopicFilter filter, SubscriptionOptions options) {
    RetainedReader present = retained;
    if (present == null) retained = present = new RetainedReader(this);
    present.request(filter, options);
  }

  /** Ends the reading of retained messages for a filter that was unsubscribed. */
  void endRetained(TopicFilter filter) {
    if (retained != null) retained.end(filter);
  }

  /** Called when all requested retained messages were read. */
  void retainedRead(RetainedReader reader) {
    if (retained == reader) retained = null;
  }

  /** Notes a live message for this session. */
  void cameLive(Publication message) {
    cameLive(message, false);
  }

  /** The same for a message of a durable session, which may have bypassed its inbox. */
  void cameLive(Publication message, boolean passing) {
    if (retained != null && message.retain()) retained.live(message, passing);
  }

  /** Whether a publish in progress of the client has this packet identifier. */
  boolean publishesAs(int packetId) {
    return inbound != null && inbound.uses(packetId);
  }

  /** What it holds at the moment. */
  public SessionFigures figures() {
    Outbound out = outbound;
    InboundPublishes in = inbound;
    return new SessionFigures(
        subscriptions == null ? 0 : subscriptions.size(), clientReceiveMaximum, out == null ? 0 : out.inFlight(), out == null ? 0 : out.queued(),
        out == null ? 0 : out.queuedBytes(), out == null ? 0 : out.heldBytes(), in == null ? 0 : in.unanswered(), in == null ? 0 : in.unreleased(),
        oldestMillis(), in == null ? 0 : in.published(), out == null ? 0 : out.sent());
  }

  private long oldestMillis() {
    return outbound == null ? 0 : millisSince(outbound.oldestAcceptedAt());
  }

  /** How long its oldest publish of QoS 1 or 2 has waited to be acknowledged; 0 without any. */
  public long oldestPublishMillis() {
    return inbound == null ? 0 : millisSince(inbound.oldestAcceptedAt());
  }

  /** Any message counts for at least a millisecond, so that 0 means none. */
  private long millisSince(OptionalLong acceptedAt) {
    return acceptedAt.isEmpty() ? 0 : Math.max(1, loop().nowMillis() - acceptedAt.getAsLong());
  }

  /** The first subscriptions whose filters' texts come behind another one, in the order of these texts; looks at all of them. */
  public List<InboxClient.Subscription> subscriptionsBehind(String after, int max) {
    return subscriptions == null ? List.of() : subscriptions.behind(after, max);
  }

  /** The options of its subscription to a filter; null without one. */
  public @Nullable SubscriptionOptions optionsOf(TopicFilter filter) {
    return subscriptions == null ? null : subscriptions.optionsOf(filter);
  }

  /** Messages that it has taken as a member of a group since it has subscribed. */
  public long takenOf(TopicFilter filter) {
    return subscriptions == null ? 0 : subscriptions.takenOf(filter);
  }

  /** Visits the subscriptions, in no order. */
  void visitSubscriptions(BiConsumer<TopicFilter, SubscriptionOptions> visitor) {
    if (subscriptions != null) subscriptions.forEach(visitor);
  }

  /** What is sent to its client; null before the first message. */
  @Nullable Outbound outboundIfAny() {
    return outbound;
  }

  /** What its client publishes; null before the first message. */
  @Nullable InboundPublishes inboundIfAny() {
    return inbound;
  }

  /** Whether the queue takes one more message of QoS 1 or 2. */
  boolean queueTakes(int size) {
    return outbound == null || outbound.wouldTake(size);
  }

  /** Whether a message of QoS 1 or 2 would be sent at once. */
  boolean sendsAtOnce() {
    return connection.writable() && (outbound == null || (outbound.queued() == 0 && outbound.inFlight() < clientReceiveMaximum && !outbound.inFlightIsFull()));
  }

  /** Whether all publishes of the client are answered; see {@link InboundPublishes#settled}. */
  public boolean settled() {
    return inbound == null || inbound.settled();
  }

  /** Whether an unanswered SUBSCRIBE or UNSUBSCRIBE has this packet identifier. */
  boolean subscribesAs(int packetId) {
    return subscriptions != null && subscriptions.uses(packetId);
  }

  /** Whether a packet of this type must not take effect before an unanswered SUBSCRIBE or UNSUBSCRIBE. */
  public boolean mustWait(int packetType) {
    return subscriptions != null && subscriptions.mustWait(packetType);
  }

  /** Whether no message waits for the client and one more could be sent at once. */
  boolean idle() {
    return !ended && connection.writable() && (outbound == null || outbound.queued() == 0);
  }

  /** The reader of its inbox; only for a durable session. */
  public InboxReader inbox() {
    if (inbox == null) throw new IllegalStateException("no inbox: " + clientId());
    return inbox;
  }

  public boolean ended() {
    return ended;
  }

  /** Whether all stored messages were taken from the inbox. */
  boolean caughtUp() {
    return inbox == null || inbox.caughtUp();
  }

  @Override
  public int load() {
    return (int) LOAD.getOpaque(this);
  }

  @Override
  public boolean mayTake(QoS qos, int size) {
    return qos == QoS.AT_MOST_ONCE ? load() != REFUSES : size <= (int) ROOM.getOpaque(this);
  }

  @Override
  public void updateLoad() {
    LOAD.setOpaque(this, ended ? REFUSES : presentLoad());
    ROOM.setOpaque(this, ended ? -1 : outbound == null ? Integer.MAX_VALUE : outbound.room());
  }

  private int presentLoad() {
    boolean takes = connection.writable();
    long waiting = connection.waitingBytes() / 256;
    if (outbound != null) {
      takes &= outbound.room() >= 0;
      waiting += outbound.inFlight() + outbound.queued();
    }
    return takes ? (int) Math.min(waiting, REFUSES - 1) : REFUSES;
  }

  @Override
  public void offer(Publication message, SubscriptionOptions options, int[] identifiers) {
    if (ended) return;
    cameLive(message);
    if (isLeftOut(message, options)) return;
    QoS qos = message.qos().min(options.maximumQoS());
    boolean retain = message.retain() && options.retainAsPublished();
    if (qos == QoS.AT_MOST_ONCE) {
      outbound().sendQoS0(message, retain, identifiers);
    } else {
      outbound().offer(new Outgoing(message, qos, retain, identifiers, null));
    }
  }

  @Override
  public boolean offerShared(Publication message, Subscriber member) {
    if (ended) return false;
    SubscriptionOptions options = member.options();
    QoS qos = message.qos().min(options.maximumQoS());
    Outbound out = outbound();
    if (!out.hasRoom(qos, message.body().length)) {
      updateLoad();
      return false;
    }
    boolean retain = message.retain() && options.retainAsPublished();
    if (withholds(message, qos, retain)) return false; // another member may have it
    if (qos == QoS.AT_MOST_ONCE) {
      out.sendQoS0(message, retain, member.identifiers());
    } else {
      out.offer(new Outgoing(message, qos, retain, member.identifiers(), member.filter));
    }
    return true;
  }

  @Override
  public boolean merge(Publication message, Subscriber subscriber) {
    cameLive(message);
    // Excluded here, so that its QoS and identifier do not affect the copy for another subscription.
    if (isLeftOut(message, subscriber.options())) return false;
    return outbound().merged().add(subscriber);
  }

  @Override
  public int[] mergedIdentifiers() {
    return outbound().merged().identifiers();
  }

  @Override
  public @Nullable SubscriptionOptions takeMerged() {
    return outbound().merged().take();
  }

  /** Whether a message is not meant for a subscription, because its client has published it itself; MQTT 5, section 3.8.3.1. */
  private boolean isLeftOut(Publication message, SubscriptionOptions options) {
    if (!options.noLocal() || !message.publisher().equals(publisher)) return false;
    loop().counts().copies().note(Step.LEFT_OUT, "no-local", message, this);
    return true;
  }

  /** Whether the node has the memory for a packet of which this many bytes are kept until a store has answered. */
  boolean hasRoomFor(int bytes) {
    return home.requestMemory().allows(operationBytes, bytes);
  }

  /** Notes that one of the client's packets waits for a store; with too many of them the client is not read from. */
  void operationBegins() {
    operationBegins(0);
  }

  void operationEnds() {
    operationEnds(0);
  }

  /** The same for a packet of which this many bytes are kept until then. */
  void operationBegins(int bytes) {
    operations++;
    if (bytes > 0) keep(bytes);
    if (operations >= OPERATIONS_MAX || operationBytes >= OPERATION_BYTES_MAX) connection.hold(Hold.OPERATIONS);
  }

  private void keep(int bytes) {
    if (!hasRoomFor(bytes)) {
      home.requestMemory().refused();
      connection.hold(Hold.OPERATIONS); // until one of its packets is answered
    }
    operationBytes += bytes;
    home.requestMemory().add(bytes);
  }

  void operationEnds(int bytes) {
    operations--;
    if (bytes > 0) {
      operationBytes -= bytes;
      home.requestMemory().add(-bytes);
    }
    if (operations <= OPERATIONS_MAX / 2 && operationBytes <= OPERATION_BYTES_MAX / 2) connection.resume(Hold.OPERATIONS);
  }

  /** Notes that the client has acknowledged a message of its inbox. */
  void acknowledged(long sequence) {
    if (inbox != null) inbox.acknowledge(sequence);
  }

  /** Called when waiting messages were sent or memory was released: there may be room for further ones. */
  public void drained() {
    if (inbox != null) inbox.fetch();
    if (retained != null) retained.read();
  }

  /** Called when the socket accepts more bytes again. */
  public void writableAgain() {
    if (outbound != null) outbound.sendQueued();
    drained();
    updateLoad(); // also when nothing was written: a group that found no room may use this client again
  }

  /** Called at the end of a round in which something was sent or acknowledged. */
  public void endRound() {
    if (inbox != null) inbox.flushAcknowledged();
    updateLoad();
  }

  /** Has publishes that are not answered not be sent again: the client publishes them again elsewhere, where later ones must not be overtaken. */
  public void forsake() {
    forsaken = true;
  }

  /** Whether the client goes on elsewhere, or may by now: publishes that are not answered are not sent again, and those that wait are not handed on. The loop's thread. */
  boolean isForsaken() {
    return forsaken || !tiers().leased().getAsBoolean();
  }

  /** Ends the session on this connection. */
  public void end() {
    if (ended) return;
    ended = true;
    updateLoad();
    if (subscriptions != null) subscriptions.end();
    if (inbox != null) inbox.flushAcknowledged();
    if (inbound != null) inbound.end();
    if (outbound != null) outbound.end();
    home.messageMemory().forget(this);
    if (retained != null) retained.end();
  }
}
