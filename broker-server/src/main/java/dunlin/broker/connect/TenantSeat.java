package dunlin.broker.connect;

import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.Will;
import dunlin.broker.loop.Turns;
import dunlin.broker.session.Hold;
import dunlin.broker.session.SubscribeRules;
import dunlin.broker.tenant.Entrance;
import dunlin.broker.tenant.Tenant;
import dunlin.broker.tenant.TenantLimit;
import dunlin.model.ReasonCode;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The place of one connection in the tenant of its client: the limits that were announced to it, and a stop to reading while the tenant has sent more than its rates
 * allow.
 */
final class TenantSeat {
  /*
   * Owner: the connection's event loop.
   * Bounds: one timer. It looks each second at the latest whether the tenant has other limits by now.
   * Failure: ends with the connection, which must leave.
   */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Connection connection;
  private final Tenant tenant;
  private final Turns.Turn turn;

  /** By the limits at CONNECT: what CONNACK has announced is not taken back. */
  private final SubscribeRules subscribeRules;

  private @Nullable ScheduledFuture<?> timer;
  private long readAtNanos;

  /** That of the tenant's limits when reading was stopped. */
  private int version;

  /** @param tenant has counted the connection */
  TenantSeat(Connection connection, Tenant tenant) {
    this.connection = connection;
    this.tenant = tenant;
    this.turn = connection.loop().turns().join(tenant.name());
    this.subscribeRules = connection.home().sessions().rules().in(tenant);
  }

  /** The turns of the tenant at the event loop. */
  Turns.Turn turn() {
    return turn;
  }

  /** Which topic filters the client may subscribe to, and which features it may use. */
  SubscribeRules subscribeRules() {
    return subscribeRules;
  }

  /** The limits on the client's packets, from those of its listener. */
  DecoderLimits narrowed(DecoderLimits usual) {
    return usual.narrowed(tenant.atMost(TenantLimit.PACKET, usual.packets().packetMax()), subscribeRules.features().maximumQoS());
  }

  /** Whether a will has a QoS that the tenant may use. */
  boolean admits(Will will) {
    if (will.qos().code() <= subscribeRules.features().maximumQoS().code()) return true;
    tenant.hit(TenantLimit.QOS);
    return false;
  }

  /** Whether a packet that was refused for a reason would have been within the limits of the listener; counts that. */
  boolean isExceeded(ReasonCode reason, DecoderLimits usual) {
    boolean packet = reason == ReasonCode.PACKET_TOO_LARGE && connection.packetMax() < usual.packets().packetMax();
    boolean qos = reason == ReasonCode.QOS_NOT_SUPPORTED && subscribeRules.features().maximumQoS() != usual.features().maximumQoS();
    if (packet) tenant.hit(TenantLimit.PACKET);
    if (qos) tenant.hit(TenantLimit.QOS);
    return packet || qos;
  }

  /** Counts that a limit was reached elsewhere. */
  void hit(TenantLimit limit) {
    tenant.hit(limit);
  }

  /** Why the client may not stay connected; null if it may. */
  Entrance.@Nullable Refused expelled() {
    Entrance.Refused away = tenant.away().orElse(null);
    if (away != null) connection.home().reception().authentication().tenants().expelled();
    return away;
  }

  // ----------------------------------------------------------------------------------------------------------------- from the client

  /** Counts a PUBLISH, and stops reading if it is too much. */
  void receivedMessage() {
    tenant.received();
    received(TenantLimit.MESSAGES_IN, 1);
  }

  /** Counts bytes, and stops reading if they are too many. */
  void receivedBytes(int bytes) {
    received(TenantLimit.BYTES_IN, bytes);
  }

  private void received(TenantLimit limit, long amount) {
    if (!tenant.limits(limit)) return;
    long wait = tenant.take(limit, amount);
    if (wait == 0 || connection.isEnding()) return;
    tenant.hit(limit);
    long until = System.nanoTime() + wait;
    if (timer != null) {
      if (until - readAtNanos > 0) readAtNanos = until;
      return;
    }
    readAtNanos = until;
    version = tenant.version();
    connection.hold(Hold.TENANT);
    lookIn(wait);
  }

  private void lookIn(long nanos) {
    timer = connection.loop().executor().schedule(this::look, Math.min(nanos, LOOK_NANOS), TimeUnit.NANOSECONDS);
  }

  private void look() {
    timer = null;
    long left = readAtNanos - System.nanoTime();
    if (left > 0 && tenant.version() == version) lookIn(left);
    else connection.resume(Hold.TENANT);
  }

  // ------------------------------------------------------------------------------------------------------------------- to the client

  /** Whether a message may be sent; if not, the connection gets a turn when one may be. */
  boolean maySend() {
    return connection.home().tenantLines().maySend(tenant, connection);
  }

  /** Notes that a PUBLISH of this many bytes was written. */
  void published(int bytes) {
    tenant.sent(bytes);
  }

  /** Called once, when the connection has ended. */
  void leave() {
    if (timer != null) timer.cancel(false);
    timer = null;
    turn.leave();
    connection.home().tenantLines().forget(tenant, connection);
    connection.home().reception().authentication().tenants().leave(tenant);
  }
}
