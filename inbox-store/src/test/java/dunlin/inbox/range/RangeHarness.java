package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.server.InboxPages;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import dunlin.transport.trace.Trace.Step;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A session range over rows in memory, driven one command at a time; every command is encoded and decoded as in the
 * log.
 */
public final class RangeHarness {
  public static final String TENANT = "default";
  private static final int STEPS_MAX = 100_000;

  private final SessionCommandCodec codec = new SessionCommandCodec();
  public MemoryRows rows = new MemoryRows();

  public static final int SHARDS = 16;
  public static final ShardInterval INTERVAL = ShardInterval.whole(SHARDS);

  /** The rows as last written, and the commands since then; kept for {@link #crash}. */
  private MemoryRows written = new MemoryRows();

  private final List<SessionCommand> unwritten = new ArrayList<>();
  boolean crashes;
  public SessionRange range;
  Effects effects = new Effects(false);
  private boolean traced;
  public long now = 1_000_000;
  int appended;
  int acknowledged;
  public final Map<InboxDropReason, Integer> dropped = new EnumMap<>(InboxDropReason.class);
  private long connections;

  private final ShardInterval interval;

  /** Number of messages dropped from full inboxes that might still have been delivered when a restart forgot them. */
  private long forgotten;

  public RangeHarness() {
    this(INTERVAL);
  }

  /** One of several ranges. */
  RangeHarness(ShardInterval interval) {
    this.interval = interval;
    range = new SessionRange(interval);
    range.noteWhile(() -> traced);
    range.open(rows);
  }

  public RangeHarness(InboxLimits limits) {
    this();
    apply(new SessionCommand.Configure(limits));
  }

  public static InboxLimits limits(int messagesMax, OverflowPolicy overflow) {
    return limits(messagesMax, overflow, Long.MAX_VALUE);
  }

  /** @param bytesMax of all inboxes together */
  public static InboxLimits limits(int messagesMax, OverflowPolicy overflow, long bytesMax) {
    return new InboxLimits(messagesMax, 1 << 20, overflow, 100, 4, new Sums(1_000, Long.MAX_VALUE, bytesMax));
  }

  /** Writes the summaries, as the store does whenever it writes the rows. */
  public void write() {
    range.summarize(rows);
    if (!crashes) return;
    written = new MemoryRows(rows);
    unwritten.clear();
  }

  /** Crashes and starts again: restores the rows as last written and replays the log from there. */
  void crash() {
    rows = new MemoryRows(written);
    range = new SessionRange(interval);
    range.noteWhile(() -> traced);
    range.open(rows);
    for (SessionCommand command : unwritten) range.apply(List.of(command), rows);
  }

  /** Restarts. */
  public void reopen() {
    write();
    forgotten += range.state().overtaken.get();
    range = new SessionRange(interval);
    range.noteWhile(() -> traced);
    range.open(rows);
  }

  public Outcome apply(SessionCommand command) {
    var bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    if (bytes.hasRemaining()) throw new AssertionError(bytes.remaining() + " bytes too many for " + command);
    var decoded = codec.decode(bytes.flip());
    var result = range.apply(List.of(decoded), rows).getFirst();
    if (crashes) unwritten.add(decoded);
    effects = result.effects();
    appended += effects.appended();
    acknowledged += effects.acknowledged();
    effects.dropped().forEach((reason, count) -> dropped.merge(reason, count, Integer::sum));
    if (traced) assertNoted();
    return result.outcome();
  }

  /** Has what happens to messages noted from now on, and compared with what is counted. */
  void trace() {
    traced = true;
  }

  /** Each counted drop is noted with its reason, but for messages that a full inbox had dropped before they were counted. */
  private void assertNoted() {
    for (InboxDropReason reason : InboxDropReason.values()) {
      int counted = effects.dropped().getOrDefault(reason, 0);
      long noted = effects.noted().stream().filter(note -> note.step() == Step.DROPPED && note.reason().equals(reason.label())).count();
      boolean mayBeGone = reason == InboxDropReason.OLDEST || reason == InboxDropReason.EXPIRED;
      if (noted > counted || (noted < counted && !mayBeGone)) throw new AssertionError(counted + " are counted as " + reason + ", and " + noted + " are noted");
    }
  }

  /** Applies the commands that results ask for until there are no more. */
  void settle() {
    for (int steps = 0; ; steps++) {
      if (steps == STEPS_MAX) throw new AssertionError("the range asks for more without end");
      for (GroupKey group : effects.drains()) {
        apply(new SessionCommand.DrainGroup(now, group, 3));
        if (!effects.drains().isEmpty()) break;
      }
      if (!effects.drains().isEmpty()) continue;
      if (range.nextWork() > now) return;
      apply(new SessionCommand.Tick(now, 2, 10));
    }
  }

  public Connected connect(String clientId) {
    return connect(clientId, false, 3600, null);
  }

  public Connected connect(String clientId, boolean cleanStart, long expirySeconds, @Nullable Will will) {
    return connect("node", 1, clientId, cleanStart, expirySeconds, will);
  }

  public Connected connect(
      String frontend, long incarnation, String clientId, boolean cleanStart, long expiry, @Nullable Will will) {
    var connection = new ConnectionId(frontend, incarnation, ++connections);
    var outcome =
        apply(
            new SessionCommand.Connect(
                now,
                new InboxClient.Connect(TENANT, clientId, "", connection, cleanStart, expiry > 0, expiry, will)));
    return ((Outcome.Connected) outcome).connected();
  }

  public Connected connect(String user, String clientId) {
    return ((Outcome.Connected) connectAs(user, clientId, false, 3600)).connected();
  }

  /** A user's attempt to connect. */
  Outcome connectAs(String user, String clientId, boolean cleanStart, long expiry) {
    var connection = new ConnectionId("node", 1, ++connections);
    return apply(
        new SessionCommand.Connect(
            now, new InboxClient.Connect(TENANT, clientId, user, connection, cleanStart, expiry > 0, expiry, null)));
  }

  public Outcome disconnect(SessionRef session, boolean publishWill, long expirySeconds) {
    var present = range.state().sessions.get(SessionKey.of(session));
    long handed = present == null ? 0 : present.handed();
    return apply(new SessionCommand.Disconnect(now, session, publishWill, expirySeconds, handed));
  }

  public Outcome subscribe(SessionRef session, String filter, QoS qos) {
    return subscribe(session, filter, SubscriptionOptions.of(qos));
  }

  public Outcome subscribe(SessionRef session, String filter, SubscriptionOptions options) {
    var wanted = new Subscription(filter(filter), options);
    return apply(new SessionCommand.Subscribe(session, List.of(wanted)));
  }

  Outcome unsubscribe(SessionRef session, String filter) {
    return apply(new SessionCommand.Unsubscribe(session, List.of(filter(filter))));
  }

  public Outcome publish(String topic, String payload, String... groups) {
    return publish(message("publisher", topic, QoS.AT_LEAST_ONCE, payload), groups);
  }

  public Outcome publish(Publication message, String... groups) {
    var picks = new ArrayList<TopicFilter>();
    for (String group : groups) picks.add(filter(group));
    return apply(new SessionCommand.Append(now, message, message.exchange(), null, picks, false, 0));
  }

  /** Publishes a message that has come by a lane between processes. */
  Outcome publishFrom(Terms.Origin origin, Publication message) {
    return apply(new SessionCommand.Append(now, message, message.exchange(), origin, List.of(), false, 0));
  }

  /** Publishes a message that is not repeated if it is refused. */
  Outcome publishOnce(Publication message, String... groups) {
    var picks = new ArrayList<TopicFilter>();
    for (String group : groups) picks.add(filter(group));
    return apply(new SessionCommand.Append(now, message, message.exchange(), null, picks, true, 0));
  }

  /** Publishes for a connection that is closed if the message is refused. */
  Outcome publishFenced(long fence, Publication message) {
    return apply(new SessionCommand.Append(now, message, message.exchange(), null, List.of(), false, fence));
  }

  Outcome acknowledge(SessionRef session, long... sequences) {
    return apply(new SessionCommand.Acknowledge(session, sequences, false));
  }

  public Publication message(String publisher, String topic, QoS qos, String payload) {
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(new Publisher(TENANT, publisher), topic, qos, false, now, bytes);
  }

  /** A message that is, or was, its topic's retained message. */
  Publication retained(String publisher, String topic, String payload) {
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(new Publisher(TENANT, publisher), topic, QoS.AT_LEAST_ONCE, true, now, bytes);
  }

  /**
   * Appends retained messages that were read when the session's inbox had everything below a sequence. Answers which
   * were appended.
   */
  List<Boolean> appendTo(SessionRef session, long from, Publication... retained) {
    var options = SubscriptionOptions.of(QoS.AT_LEAST_ONCE);
    var outcome = apply(new SessionCommand.AppendTo(now, session, options, from, List.of(retained)));
    return ((Outcome.Appended) outcome).appended().taken();
  }

  /** A message that expires after some seconds. */
  public Publication expiring(String topic, String payload, int seconds) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] text = payload.getBytes(StandardCharsets.UTF_8);
    var body = ByteBuffer.allocate(name.length + 5 + text.length);
    body.put(name).put((byte) 2).putInt(seconds).put(text);
    return new Publication(
        new Publisher(TENANT, "publisher"),
        QoS.AT_LEAST_ONCE,
        false,
        now,
        seconds,
        name.length + 1,
        name.length,
        5,
        body.array(),
        null);
  }

  Publication inExchange(String publisher, String topic, String payload, long epoch, int packetId) {
    var plain = message(publisher, topic, QoS.EXACTLY_ONCE, payload);
    return new Publication(
        plain.publisher(),
        plain.qos(),
        false,
        now,
        Publication.NEVER_EXPIRES,
        -1,
        plain.topicLength(),
        0,
        plain.body(),
        new Publication.Exchange(epoch, packetId));
  }

  public static TopicFilter filter(String text) {
    return TopicFilter.parse(text).orElseThrow();
  }

  static String text(InboxMessage message) {
    return new String(message.message().payload(), StandardCharsets.UTF_8);
  }

  List<String> pushed() {
    return effects.pushes().stream().map(push -> push.session().key.clientId() + ":" + text(push.message())).toList();
  }

  public SessionState state(SessionRef session) {
    var present = range.state().sessions.get(SessionKey.of(session));
    if (present == null) throw new AssertionError("no session " + session);
    return present;
  }

  Page fetch(SessionRef session) {
    return fetch(session, 1, 1_000);
  }

  Page fetch(SessionRef session, long from, int max) {
    var present = state(session);
    var reader =
        new InboxPages((ref, sequences) -> apply(new SessionCommand.Acknowledge(ref, sequences, true)));
    return reader.read(rows, present, session, present.handed(), from, max, 1 << 20, now);
  }

  List<String> inbox(SessionRef session) {
    return fetch(session).messages().stream().map(RangeHarness::text).toList();
  }

  /** Asserts that appended messages are acknowledged, dropped or stored. */
  public void assertBalance() {
    long gone = acknowledged + forgotten + range.state().overtaken.get();
    for (var each : dropped.entrySet()) {
      boolean neverAppended = each.getKey() == InboxDropReason.OFFLINE || each.getKey() == InboxDropReason.REPEATED;
      if (!neverAppended) gone += each.getValue();
    }
    long queued = range.state().queued.get();
    if (appended != gone + queued) {
      throw new AssertionError(
          appended + " appended, " + acknowledged + " acknowledged, " + dropped + ", " + queued + " queued");
    }
  }

  /** A client identifier with a prefix, in the shard of another client or in a different shard. */
  public static String neighbour(String begin, String client, boolean inSameShard) {
    int shard = new SessionKey(TENANT, client).shard(SHARDS);
    for (int i = 0; ; i++) {
      String name = begin + i;
      if (new SessionKey(TENANT, name).shard(SHARDS) == shard == inSameShard) return name;
    }
  }

  /** The keys of all rows except the two of the range itself. */
  List<String> rowKeys() {
    write();
    return rows.dump().keySet().stream().map(key -> key.replaceFirst("^<0><\\d+>", "")).filter(key -> !key.startsWith("<0>")).toList();
  }
}
