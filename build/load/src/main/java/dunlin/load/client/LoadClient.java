package dunlin.load.client;

import dunlin.load.count.Arrival;
import dunlin.load.count.Book;
import dunlin.load.count.Codes;
import dunlin.load.count.Count;
import dunlin.load.count.GroupBook;
import dunlin.load.count.LastSeen;
import dunlin.load.count.LoopMeters;
import dunlin.load.count.Series;
import dunlin.load.count.Stamp;
import dunlin.load.mqtt.Connect;
import dunlin.load.mqtt.Filter;
import dunlin.load.mqtt.Limits;
import dunlin.load.mqtt.PacketListener;
import dunlin.load.mqtt.PacketType;
import dunlin.load.mqtt.PacketWriter;
import dunlin.load.mqtt.Version;
import dunlin.load.mqtt.Will;
import dunlin.load.plan.Payload;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Who;
import dunlin.load.plan.WillPlan;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A client with its session, over all its connections. */
public final class LoadClient implements PacketListener {
  /*
   * Owner: the client's event loop; other threads read its books after the run, by a task on that loop.
   * Bounds: PublishWindow; packet identifiers of QoS 2 that wait for PUBREL, 65,535 by the protocol; Book.
   * Failure: a lost connection is counted. Unacknowledged messages are sent again when the broker still has the
   * session; otherwise they do not count as lost.
   */
  private static final int FILTERS_OF_A_PACKET_MAX = 500;
  private static final int FIRST_SUBSCRIBE_ID = Pool.INFLIGHT_MAX + 1;

  private enum State {
    IDLE,
    DIALLING,
    CONNECTING,
    SUBSCRIBING,
    READY
  }

  private final Pool pool;
  private final int number;
  private final Loop loop;
  private final List<Stream> streams;
  private final Version version;

  private State state = State.IDLE;
  private @Nullable Connection connection;
  private @Nullable Settled settled;
  private @Nullable PublishWindow window;
  private @Nullable Book book;
  private @Nullable GroupBook group;
  private @Nullable LastSeen lastSeen;
  private @Nullable BitSet unreleased;
  private @Nullable Who who; // only set for publishers
  private Limits limits = Limits.NONE;
  private long startedNanos; // start of the current state
  private long lastWriteNanos;
  private long pingNanos; // 0 when no ping is outstanding
  private long reconnectNanos; // 0 for no reconnect
  private int subacksMissing;
  private int since = Integer.MAX_VALUE;
  private boolean refused; // a subscription was refused
  private boolean leaving;
  private boolean explained; // the end of this connection has been counted already

  LoadClient(Pool pool, int number, Loop loop, int firstStream) {
    this.pool = pool;
    this.number = number;
    this.loop = loop;
    version = pool.version(number);
    List<Publishing> publishings = pool.publishings();
    if (publishings.isEmpty()) {
      streams = List.of();
      return;
    }
    Who me = pool.who(number);
    who = me;
    var made = new ArrayList<Stream>(publishings.size());
    for (int i = 0; i < publishings.size(); i++) {
      Publishing publishing = publishings.get(i);
      var stream = new Stream(firstStream + i, this, publishing, publishing.topic().fill(me), publishing.qos(number));
      loop.context().enter(stream);
      made.add(stream);
    }
    streams = List.copyOf(made);
  }

  public Pool pool() {
    return pool;
  }

  /** The client's number in its pool, from 0. */
  public int number() {
    return number;
  }

  public List<Stream> streams() {
    return streams;
  }

  /** The book of received messages, or null when there are none; a member of a shared group has no book of its own. */
  public @Nullable Book book() {
    return book;
  }

  /** The first step whose messages it must receive; Integer.MAX_VALUE when it has no session. */
  public int since() {
    return since;
  }

  boolean isIdle() {
    return state == State.IDLE;
  }

  boolean isReady() {
    return state == State.READY;
  }

  Loop loop() {
    return loop;
  }

  private LoopMeters meters() {
    return loop.meters();
  }

  // ---- connecting

  void connect(long intendedNanos, @Nullable Settled listener) {
    assert state == State.IDLE : state;
    settled = listener;
    state = State.DIALLING;
    startedNanos = intendedNanos;
    reconnectNanos = 0;
    leaving = false;
    explained = false;
    meters().add(Count.CONNECT_ATTEMPTS);
    loop.dialer().dial(this);
  }

  /** The network connection is open: sends CONNECT. */
  void open(Connection opened) {
    if (state != State.DIALLING || leaving) {
      opened.close();
      return;
    }
    connection = opened;
    state = State.CONNECTING;
    Who me = pool.who(number);
    String password = pool.password(number, me);
    byte[] user = me.user().isEmpty() ? null : utf8(me.user());
    var packet =
        new Connect(
            version,
            utf8(me.clientId()),
            pool.clean(),
            (int) pool.keepAlive().toSeconds(),
            pool.clean() ? 0 : pool.sessionExpiry().toSeconds(),
            0,
            user,
            password == null ? null : utf8(password),
            will(me));
    PacketWriter.connect(opened.out(256), packet);
    lastWriteNanos = System.nanoTime();
    opened.flush();
  }

  private @Nullable Will will(Who me) {
    WillPlan plan = pool.will();
    return plan == null ? null : new Will(utf8(plan.topic().fill(me)), Stamp.will(loop.context().run()), plan.qos(), plan.retain());
  }

  /** The network connection failed. */
  void dialFailed(Throwable cause) {
    if (state != State.DIALLING) return;
    loop.failure(cause);
    meters().add(Count.CONNECT_FAILED);
    state = State.IDLE;
    connectionGone();
  }

  @Override
  public void connack(boolean sessionPresent, int code, Limits given) {
    if (state != State.CONNECTING || connection == null) return;
    if (code != 0) {
      meters().add(Count.CONNECT_REFUSED);
      meters().code(version == Version.V5 ? Codes.CONNACK_5 : Codes.CONNACK_3, code);
      explained = true;
      connection.close();
      return;
    }
    long now = System.nanoTime();
    meters().add(Count.CONNECTED);
    meters().time(Series.CONNECT, (now - startedNanos) / 1_000);
    limits = given;
    if (sessionPresent && !pool.clean()) resume(connection);
    else forget();
    if (pool.subscriptions().isEmpty() || (sessionPresent && !pool.clean())) ready();
    else subscribe(connection, now);
  }

  /** Sends unacknowledged messages again; section 4.4 of the specifications. */
  private void resume(Connection to) {
    PublishWindow sent = window;
    if (sent == null || sent.used() == 0) return;
    for (int packetId : sent.inOrder()) {
      if (sent.state(packetId) == PublishWindow.RELEASED) {
        PacketWriter.ack(to.out(4), PacketType.PUBREL, packetId);
      } else {
        meters().add(Count.RESENT);
        write(to, sent.stream(packetId), sent.sequence(packetId), sent.intended(packetId), packetId, true);
      }
    }
  }

  /** The session is new: unacknowledged messages of the old session do not count as lost. */
  private void forget() {
    unreleased = null;
    PublishWindow sent = window;
    if (sent == null) return;
    for (int packetId : sent.inOrder()) {
      meters().add(Count.UNACKNOWLEDGED);
      sent.stream(packetId).exempt(sent.sequence(packetId));
      sent.free(packetId);
    }
  }

  private void subscribe(Connection to, long now) {
    state = State.SUBSCRIBING;
    startedNanos = now;
    Who me = pool.who(number);
    int packetId = FIRST_SUBSCRIBE_ID;
    var filters = new ArrayList<Filter>();
    subacksMissing = 0;
    for (int i = 0; i < pool.subscriptions().size(); i++) {
      filters.add(new Filter(utf8(pool.filter(i, me)), pool.subscriptions().get(i).qos()));
      if (filters.size() < FILTERS_OF_A_PACKET_MAX && i + 1 < pool.subscriptions().size()) continue;
      int bytes = filters.stream().mapToInt(filter -> filter.text().length + 3).sum();
      PacketWriter.subscribe(to.out(bytes + 16), version, packetId++, filters);
      filters.clear();
      subacksMissing++;
    }
    if (pool.subscriptions().getFirst().isShared()) {
      if (group == null) group = loop.context().group(pool.filter(0, me));
      if (lastSeen == null) lastSeen = new LastSeen(loop.context().budget());
    } else if (book == null) {
      book = new Book(loop.context().budget());
    }
  }

  @Override
  public void suback(int packetId, ByteBuf in, int codesIndex, int codes) {
    if (state != State.SUBSCRIBING) return;
    for (int i = 0; i < codes; i++) {
      int code = in.getUnsignedByte(codesIndex + i);
      if (code < 0x80) {
        meters().add(Count.SUBSCRIBED);
      } else {
        refused = true;
        meters().add(Count.SUBSCRIBE_REFUSED);
        meters().code(Codes.SUBACK, code);
      }
    }
    if (--subacksMissing > 0) return;
    meters().time(Series.SUBSCRIBE, (System.nanoTime() - startedNanos) / 1_000);
    ready();
  }

  private void ready() {
    state = State.READY;
    // A client with a refused subscription need not receive anything.
    if (since == Integer.MAX_VALUE && !refused) since = loop.context().step() + 1;
    if (group != null && !refused) group.join(since);
    settle();
    pump();
  }

  private void settle() {
    Settled listener = settled;
    settled = null;
    if (listener != null) listener.settled();
  }

  // ---- leaving

  void disconnect(boolean abrupt) {
    reconnectNanos = 0;
    leaving = true;
    Connection left = connection;
    if (left == null) return;
    if (!abrupt) PacketWriter.disconnect(left.out(2));
    if (abrupt) left.close();
    else left.closeInOrder();
  }

  @Override
  public void disconnect(int reason) {
    meters().add(Count.DISCONNECTED_BY_BROKER);
    meters().code(Codes.DISCONNECT, reason);
    explained = true;
    if (connection != null) connection.close();
  }

  /** A connection has ended for any reason. */
  void ended(Connection over) {
    if (over != connection && state != State.DIALLING) return;
    State before = state;
    connection = null;
    state = State.IDLE;
    pingNanos = 0;
    switch (before) {
      case IDLE -> {}
      case DIALLING, CONNECTING -> {
        if (!leaving && !explained) meters().add(Count.CONNECT_FAILED);
      }
      case SUBSCRIBING, READY -> {
        meters().add(Count.CONNECTIONS_ENDED);
        if (!leaving && !explained) meters().add(Count.CONNECTION_LOST);
        if (pool.clean() && !loop.isStopping()) sessionEnded();
      }
    }
    connectionGone();
  }

  private void sessionEnded() {
    since = Integer.MAX_VALUE;
    unreleased = null;
    Book read = book;
    if (read == null) return;
    loop.close(read, pool);
    read.clear();
  }

  private void connectionGone() {
    Duration after = pool.reconnectAfter();
    if (after != null && !leaving && !loop.isStopping()) reconnectNanos = System.nanoTime() + after.toNanos();
    settle();
  }

  // ---- once a second

  /** Checks timeouts, and keeps the connection alive. */
  void sweep(long now) {
    switch (state) {
      case IDLE -> {
        if (reconnectNanos != 0 && now - reconnectNanos >= 0 && !loop.isStopping()) connect(now, null);
      }
      case DIALLING -> {} // the dialer has its own timeout
      case CONNECTING -> {
        if (now - startedNanos > loop.connectTimeoutNanos()) timeOut(Count.CONNECT_TIMED_OUT);
      }
      case SUBSCRIBING -> {
        if (now - startedNanos > loop.connectTimeoutNanos()) timeOut(Count.SUBSCRIBE_TIMED_OUT);
        else keepAlive(now);
      }
      case READY -> keepAlive(now);
    }
    if (window != null) meters().add(Count.PUBLISH_TIMED_OUT, window.timeOut(now, loop.ackTimeoutNanos()));
  }

  private void timeOut(Count count) {
    meters().add(count);
    explained = true;
    if (connection != null) connection.close();
  }

  private void keepAlive(long now) {
    long interval = (limits.keepAliveSeconds() >= 0 ? limits.keepAliveSeconds() : pool.keepAlive().toSeconds()) * 1_000_000_000L;
    if (interval == 0 || connection == null) return;
    if (pingNanos != 0) {
      if (now - pingNanos > interval) timeOut(Count.PING_TIMED_OUT);
    } else if (now - lastWriteNanos > interval - Math.min(interval / 2, 5_000_000_000L)) {
      PacketWriter.pingreq(connection.out(2));
      lastWriteNanos = now;
      pingNanos = now;
    }
  }

  @Override
  public void pingresp() {
    pingNanos = 0;
  }

  // ---- publishing

  /** Sends waiting messages. */
  void pump() {
    for (Stream stream : streams) stream.pump();
  }

  /** Whether a message of a stream could be written now. */
  boolean canSend(Stream stream) {
    if (state != State.READY || connection == null || !connection.isWritable()) return false;
    return stream.qos() == 0 || window == null || window.used() < Math.min(pool.inflightMax(), limits.receiveMaximum());
  }

  int unacknowledged() {
    return window == null ? 0 : window.used();
  }

  /** Publishes the next message of a stream. */
  void publish(Stream stream, long intendedMicros, long nowNanos) {
    Connection to = connection;
    if (to == null) throw new IllegalStateException("not connected");
    long sequence = stream.next();
    int packetId = 0;
    if (stream.qos() > 0) {
      PublishWindow sent = window;
      if (sent == null) window = sent = new PublishWindow(pool.inflightMax());
      packetId = sent.take(stream, sequence, intendedMicros, nowNanos);
    }
    meters().add(Count.published(stream.qos()));
    meters().add(Count.DUE, stream.fanOut);
    write(to, stream, sequence, intendedMicros, packetId, false);
    lastWriteNanos = nowNanos;
  }

  private void write(Connection to, Stream stream, long sequence, long micros, int packetId, boolean dup) {
    Publishing publishing = stream.publishing();
    Payload payload = publishing.payload();
    Who me = who;
    assert me != null : "a client without streams publishes";
    int run = loop.context().run();
    byte[] topic = stream.topicBytes();
    if (payload.isFixed()) {
      ByteBuf out = to.out(topic.length + payload.size() + 16);
      PacketWriter.publishHead(out, version, topic, stream.qos(), publishing.retain(), dup, packetId, payload.size());
      payload.write(out, me, run, stream.id(), sequence, micros);
      return;
    }
    ByteBuf text = loop.scratch();
    payload.write(text, me, run, stream.id(), sequence, micros);
    ByteBuf out = to.out(topic.length + text.readableBytes() + 16);
    PacketWriter.publishHead(out, version, topic, stream.qos(), publishing.retain(), dup, packetId, text.readableBytes());
    out.writeBytes(text);
  }

  @Override
  public void ack(int type, int packetId, int reason) {
    if (type == PacketType.PUBREL) {
      if (unreleased != null) unreleased.clear(packetId);
      if (connection != null) PacketWriter.ack(connection.out(4), PacketType.PUBCOMP, packetId);
      return;
    }
    PublishWindow sent = window;
    if (sent == null || sent.state(packetId) == PublishWindow.FREE) {
      meters().add(Count.PROTOCOL_ERRORS);
      return;
    }
    Stream stream = sent.stream(packetId);
    if (reason >= 0x80) {
      meters().add(Count.PUBLISH_REFUSED);
      meters().code(Codes.PUBLISH, reason);
      stream.exempt(sent.sequence(packetId));
      sent.free(packetId);
    } else if (type == PacketType.PUBREC) {
      sent.release(packetId);
      if (connection != null) PacketWriter.ack(connection.out(4), PacketType.PUBREL, packetId);
      return;
    } else {
      long age = loop.context().clock().micros() - sent.intended(packetId);
      meters().add(type == PacketType.PUBACK ? Count.ACKNOWLEDGED_1 : Count.ACKNOWLEDGED_2);
      meters().time(type == PacketType.PUBACK ? Series.ACKNOWLEDGE_1 : Series.ACKNOWLEDGE_2, age);
      sent.free(packetId);
    }
    stream.pump();
  }

  // ---- receiving

  @Override
  public void publish(int qos, boolean dup, boolean retain, int packetId, ByteBuf in, int payloadIndex, int payloadLength) {
    Connection from = connection;
    if (from == null) return;
    if (qos == 1) {
      PacketWriter.ack(from.out(4), PacketType.PUBACK, packetId);
    } else if (qos == 2) {
      PacketWriter.ack(from.out(4), PacketType.PUBREC, packetId);
      if (unreleased == null) unreleased = new BitSet();
      if (unreleased.get(packetId)) {
        meters().add(Count.REPEATED);
        return;
      }
      unreleased.set(packetId);
    }
    Stamp stamp = loop.stamp();
    switch (stamp.read(in, payloadIndex, payloadLength)) {
      case FOREIGN -> meters().add(Count.FOREIGN);
      case WILL -> meters().add(loop.context().counts(stamp.run()) ? Count.WILLS : Count.FOREIGN);
      case MESSAGE -> {
        if (!loop.context().counts(stamp.run())) meters().add(Count.FOREIGN);
        else if (retain) meters().add(Count.RETAINED);
        else received(qos, stamp);
      }
    }
  }

  private void received(int qos, Stamp stamp) {
    LoopMeters meters = meters();
    meters.add(Count.received(qos));
    switch (arrival(stamp)) {
      case IN_ORDER -> {}
      case OUT_OF_ORDER -> meters.add(Count.outOfOrder(qos));
      case UNCHECKED -> meters.add(Count.UNCHECKED);
      case DUPLICATE -> {
        meters.add(Count.duplicated(qos));
        return;
      }
    }
    meters.time(Series.deliver(qos), stamp.ageMicros(loop.context().clock().micros()));
    Stream stream = loop.context().streamOf(stamp.key());
    if (stream != null && stream.publishing().rate() == null && stream.qos() == 0) stream.delivered.incrementAndGet();
  }

  private Arrival arrival(Stamp stamp) {
    GroupBook shared = group;
    if (shared == null) {
      if (book == null) book = new Book(loop.context().budget()); // a message for a session from an earlier run
      return book.receive(stamp.key(), stamp.sequence());
    }
    Arrival arrival = shared.receive(stamp.key(), stamp.sequence());
    if (arrival == Arrival.DUPLICATE || arrival == Arrival.UNCHECKED || lastSeen == null) return arrival;
    return lastSeen.inOrder(stamp.key(), stamp.sequence()) ? Arrival.IN_ORDER : Arrival.OUT_OF_ORDER;
  }

  /** Called at the end: unacknowledged messages do not count as lost. */
  void exemptUnacknowledged() {
    PublishWindow sent = window;
    if (sent == null) return;
    for (int packetId : sent.inOrder()) {
      meters().add(Count.UNACKNOWLEDGED);
      sent.stream(packetId).exempt(sent.sequence(packetId));
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
