package dunlin.broker.connect;

import dunlin.broker.auth.Peer;
import dunlin.broker.auth.Refusal;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.InboundPublish;
import dunlin.broker.codec.Limit;
import dunlin.broker.codec.MalformedPacketException;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.PacketDecoder;
import dunlin.broker.codec.PacketEncoder;
import dunlin.broker.codec.PacketHandler;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.listen.Listener;
import dunlin.broker.listen.ProxyFront;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.ServersTopics;
import dunlin.broker.loop.Turns;
import dunlin.broker.meter.PacketType;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.Hold;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.RoundWriter;
import dunlin.broker.session.SubscribeRules;
import dunlin.broker.tenant.Entrance;
import dunlin.broker.tenant.TenantLimit;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.StaleSessionException;
import dunlin.model.ReasonCode;
import dunlin.runtime.LogText;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.DecoderException;
import io.netty.util.concurrent.ScheduledFuture;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One network connection of a client: hands packets to its session, and closes with the right reason; MQTT 5, sections
 * 3.1 and 4.13. The last handler of its channel's pipeline; {@link Input} has what is read. This class is long because all
 * states of a connection are in one place.
 */
final class Connection extends KeepAliveWheel.Watched
    implements ClientConnection, ChannelInboundHandler, PacketHandler {
  /*
   * Owner: the channel's event loop.
   *
   *   AWAITING_CONNECT -> AUTHENTICATING  an acceptable CONNECT; only AUTH is read until the client is authenticated
   *   AUTHENTICATING -> OPENING     the client is authenticated; reading stops until the session tier has answered
   *   OPENING          -> LIVE      CONNACK 0x00 is written
   *   any              -> CLOSING   an error, DISCONNECT, take-over or shutdown: the session is left, written bytes are flushed, nothing is read
   *   any              -> CLOSED    the channel is closed
   *
   * Bounds: those of Input.
   * Keep alive: it also applies while the connection is held back. When the time is over, one more read is taken from the socket and
   *   kept; if no byte arrives until the time is over once more, the client counts as dead. Beyond HEARD_MAX nothing more is read; from
   *   then on, and after reading has resumed, the time counts from when reading resumes.
   * Failure: a failure of one connection does not affect others.
   */
  private static final Logger log = LoggerFactory.getLogger(Connection.class);
  /** Bytes of answers that may wait for a socket however little memory there is. */
  private static final int ANSWERS_MIN = 4 * 1_024;

  private static final int CLOSE_WAIT_MILLIS = 5_000;

  private enum State {
    AWAITING_CONNECT,
    AUTHENTICATING,
    OPENING,
    LIVE,
    CLOSING,
    CLOSED
  }

  private final LoopConnections home;
  private final Listener listener;
  private final Input input;
  private final RoundWriter writer = new RoundWriter(this);

  private State state = State.AWAITING_CONNECT;

  private @Nullable ChannelHandlerContext context;
  private long number;

  /** While it is authenticated; of a client with an authentication method for as long as it is connected. */
  private @Nullable Admission admission;

  /** While the session tier is asked for the session. */
  private @Nullable Opening opening;

  /** Ends the connection when its client's credentials are no longer valid; null if they always are. */
  private @Nullable ScheduledFuture<?> credentialsEnd;

  /** Whether a message was pushed before the session tier's answer to CONNECT arrived. */
  private boolean behindAtOpening;

  private @Nullable LiveSession session;
  private Ending ending = Ending.LOST;
  private long sessionExpirySeconds;

  /** For operators: who the client is, since when, and whether it has left a will. */
  private String user = "";
  private long userSince;

  private long connectedAtMillis;
  private boolean will;

  /** Its place in the tenant of its client, once the client is admitted. */
  private @Nullable TenantSeat seat;

  /** The number of the range of its client's session, once the client is admitted. */
  private short range;

  /** The last comparison of connections in which the session tier has named it. */
  private byte mark;

  /** The bytes of this connection that are counted in {@link SocketMemory}. */
  private long countedForSocket;

  Connection(LoopConnections home, Listener listener) {
    this.home = home;
    this.listener = listener;
    this.input = new Input(this, new PacketDecoder(listener.decoderLimits()));
  }

  /** The connections of its loop. */
  LoopConnections home() {
    return home;
  }

  @Override
  public Loop loop() {
    return home.loop();
  }

  /** The remote end; known before the first packet. Computed at each call. */
  Peer peer() {
    return listener.peerOf(channel());
  }

  @Override
  public @Nullable SocketAddress address() {
    return Listener.addressOf(channel());
  }

  /** The session of its client, once that is open. */
  @Nullable LiveSession session() {
    return session;
  }

  /** The user of its client, once its session is open; empty for none. Any thread that has found it in {@link ClientIndex}. */
  String user() {
    return user;
  }

  /** The name of the listener that took it; any thread. */
  String listenerName() {
    return listener.getName();
  }

  /** When its session was opened, milliseconds since 1970. */
  long connectedAtMillis() {
    return connectedAtMillis;
  }

  boolean hasWill() {
    return will;
  }

  /** The Session Expiry Interval in force. */
  long sessionExpirySeconds() {
    return sessionExpirySeconds;
  }

  /** Why it is not read from; empty when it is. */
  List<Hold> holds() {
    return input.holds();
  }

  /** The largest packet that the client may send. */
  int packetMax() {
    return packetLimits().packets().packetMax();
  }

  /** The limits on the client's packets, by its listener and tenant. */
  DecoderLimits packetLimits() {
    return input.limits();
  }

  /**
   * Whether it came to an address that only clients on this machine can reach (loopback, or not IP), and not through a
   * proxy on another machine.
   */
  boolean isLocal() {
    boolean arrivedHere = !(channel().localAddress() instanceof InetSocketAddress inet) || inet.getAddress().isLoopbackAddress();
    return arrivedHere && !ProxyFront.speaksForAnotherMachine(channel());
  }

  ConnectionId id() {
    return new ConnectionId(home.reception().nodeId(), home.reception().life(range), number);
  }

  @Override
  public long number() {
    return number;
  }

  @Override
  public RoundWriter writer() {
    return writer;
  }

  @Override
  public ChannelHandlerContext context() {
    return Objects.requireNonNull(context, "no channel yet");
  }

  private Channel channel() {
    return context().channel();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    context = ctx;
    // Packets in front of the end are processed, above all DISCONNECT, even if reading has just been stopped.
    ctx.channel().config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    ctx.channel().config().setRecvByteBufAllocator(input);
    number = home.table().nextNumber(loop().index(), loop().loops().count());
    home.table().add(this);
    loop().meters().connectionOpened();
    home.keepAlive().watch(this, loop().settings().connections().connectTimeout().toMillis());
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object data) {
    ByteBuf in = (ByteBuf) data;
    loop().traffic().bytesReceived(in.readableBytes());
    if (isEnding()) {
      in.release();
      return;
    }
    // Before that, the timer runs for the CONNECT as a whole: a client that sends it byte by byte gets no more time.
    if (state == State.LIVE) home.keepAlive().heard(this);
    if (seat != null) seat.receivedBytes(in.readableBytes());
    input.read(in);
  }

  /** Closes the connection, because the bytes of its incomplete packet cannot be held any longer. */
  void noMemoryForInput(Limit limit, int bytes) {
    String explanation = "there is no memory for the %d bytes of a packet that is not finished (%s)".formatted(bytes, limit.setting());
    note(ReasonCode.QUOTA_EXCEEDED, limit, explanation);
    if (state == State.AWAITING_CONNECT) close();
    else reject(ReasonCode.QUOTA_EXCEEDED, explanation);
  }

  void malformed(MalformedPacketException e) {
    String explanation = Objects.requireNonNullElse(e.getMessage(), "");
    if (seat != null && seat.isExceeded(e.reason(), listener.decoderLimits())) explanation += "; this is a limit of the tenant";
    note(e.reason(), e.limit().orElse(null), explanation);
    if (state == State.AWAITING_CONNECT && e.version().isPresent()) {
      writer.version(e.version().get());
      refuse(e.reason(), explanation);
    } else {
      reject(e.reason(), explanation);
    }
  }

  @Override
  public void note(ReasonCode reason, @Nullable Limit limit, String explanation) {
    String clientId = session == null ? "" : session.clientId();
    loop().meters().violations().violated(reason, limit, clientId, peer().address(), explanation);
  }

  @Override
  public void violated(ReasonCode reason, @Nullable Limit limit, String explanation) {
    if (!open() && state != State.AUTHENTICATING) return;
    note(reason, limit, explanation);
    reject(reason, explanation);
  }

  @Override
  public void hold(Hold reason) {
    input.hold(reason);
  }

  @Override
  public void holdForCredit() {
    input.holdForCredit();
  }

  @Override
  public void resume(Hold reason) {
    input.resume(reason);
  }

  // ------------------------------------------------------------------------------------------------------------ output

  @Override
  public boolean writable() {
    return channel().isWritable() && maySend();
  }

  @Override
  public boolean writable(int bytes) {
    if (!channel().isWritable() || !maySend()) return false;
    if (home.socketMemory().takes(countedForSocket, bytes)) return true;
    home.socketMemory().await(this);
    return false;
  }

  @Override
  public boolean takesQoS0(int bytes) {
    if (!channel().isWritable() || !maySend()) return false;
    if (home.socketMemory().takes(countedForSocket, bytes)) return true;
    loop().flushNow();
    return state != State.CLOSED && channel().isWritable() && home.socketMemory().takes(countedForSocket, bytes);
  }

  /**
   * Whether too many answers wait. Deliveries stop at the watermark, so only answers to the client's packets can fill
   * twice as much.
   */
  boolean answersPileUp() {
    long usual = 2L * loop().settings().listeners().outboundMax();
    if (countedForSocket <= ANSWERS_MIN || waitingBytes() <= home.socketMemory().answersMax(usual)) return false;
    home.socketMemory().await(this);
    return true;
  }

  @Override
  public void takesMemory(int bytes) {
    home.socketMemory().takes(this, bytes);
  }

  long countedForSocket() {
    return countedForSocket;
  }

  void countedForSocket(long bytes) {
    countedForSocket = bytes;
  }

  /** Called when there may be memory again for this socket, or the socket may have accepted the waiting bytes. */
  void socketMemoryAgain() {
    SocketMemory memory = home.socketMemory();
    if (!memory.isAwaitedBy(this) || state != State.LIVE || session == null || !channel().isWritable()) return;
    if (countedForSocket > memory.answersMax(loop().settings().listeners().outboundMax())) return;
    memory.forget(this);
    session.writableAgain();
    resume(Hold.SOCKET);
  }

  @Override
  public long waitingBytes() {
    if (state == State.CLOSED) return 0;
    var pending = channel().unsafe().outboundBuffer();
    return (pending == null ? 0 : pending.totalPendingWriteBytes()) + writer.waitingBytes();
  }

  @Override
  public void flushRound() {
    // Bytes that are written behind the last packet are discarded.
    if (isEnding()) writer.discard();
    else writer.flush();
    home.socketMemory().settle(this, waitingBytes());
    socketMemoryAgain();
    if (session != null) session.endRound();
  }

  // ----------------------------------------------------------------------------------------------------- limits of the tenant

  /** Counts that a limit of the tenant was reached elsewhere. */
  void hitTenant(TenantLimit limit) {
    if (seat != null) seat.hit(limit);
  }

  @Override
  public boolean maySend() {
    return seat == null || seat.maySend();
  }

  /** The turns of the client's tenant at the event loop; null before CONNECT. */
  Turns.@Nullable Turn turn() {
    return seat == null ? null : seat.turn();
  }

  @Override
  public void published(int bytes) {
    if (seat != null) seat.published(bytes);
  }

  /** Called when it has waited until the tenant may be sent more. */
  void mayBeSentMore() {
    if (state == State.LIVE && session != null && channel().isWritable()) session.writableAgain();
  }

  @Override
  public SubscribeRules subscribeRules() {
    return seat == null ? home.sessions().rules() : seat.subscribeRules();
  }

  // ----------------------------------------------------------------------------------------------------------- connecting

  @Override
  public void onConnect(Packet.Connect packet) {
    loop().traffic().received(PacketType.CONNECT);
    writer.heed(packet);
    Drain drain = home.reception().drain();
    if (drain != null) {
      refuse(ReasonCode.USE_ANOTHER_SERVER, "the server is being drained", drain.serverReference());
      return;
    }
    if (!listener.serves(packet.version())) {
      String explanation = "this listener does not serve MQTT " + packet.version();
      note(ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, null, explanation);
      refuse(ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, explanation);
      return;
    }
    ReasonCode misnamed = listener.takesNames() ? Listener.refusal(peer(), packet.clientId()) : null;
    if (misnamed != null) {
      String explanation = "the certificate does not allow this client identifier";
      note(misnamed, null, explanation);
      refuse(misnamed, explanation);
      return;
    }
    if (packet.will() != null && ServersTopics.has(packet.will().topic())) {
      refuse(ReasonCode.NOT_AUTHORIZED, "a will may not be published to $SYS");
      return;
    }
    state = State.AUTHENTICATING;
    // A client with an authentication method is read from, but may only send AUTH and DISCONNECT [MQTT-3.1.2-30].
    if (packet.authenticationMethod() == null) hold(Hold.OPENING);
    else input.onlyAuthentication(true);
    admission = new Admission(this, packet);
    admission.start();
  }

  /** Opens the session of an authenticated client; the session is not touched before. */
  void admitted(Packet.Connect packet, Admitted client) {
    TenantSeat taken;
    switch (home.reception().authentication().tenants().enter(client.identity().tenant())) {
      case Entrance.Entered(var tenant) -> taken = new TenantSeat(this, tenant);
      case Entrance.Refused(var reason, _, var explanation) -> {
        refuse(reason, explanation);
        return;
      }
      case Entrance.Limited(var tenant, var limit, var reason, var explanation) -> {
        tenant.hit(limit);
        refuse(reason, explanation);
        return;
      }
    }
    seat = taken;
    input.limits(taken.narrowed(input.limits()));
    if (packet.will() != null && !taken.admits(packet.will())) {
      refuse(ReasonCode.QOS_NOT_SUPPORTED, "the will has a higher QoS than this tenant may use"); // [MQTT-3.2.2-12]
      return;
    }
    state = State.OPENING;
    mustBeLeased();
    if (isEnding()) return;
    range = (short) loop().tiers().inbox().rangeOf(client.identity().tenant(), client.clientId());
    hold(Hold.OPENING);
    input.onlyAuthentication(false);
    if (packet.authenticationMethod() == null) admission = null;
    opening = new Opening(this, packet, client);
    opening.start();
  }

  /** Ends the connection in so many milliseconds, unless its client shows new credentials before; empty for never. */
  void endIn(OptionalLong millis) {
    if (credentialsEnd != null) credentialsEnd.cancel(false);
    credentialsEnd = millis.isEmpty() ? null : loop().executor().schedule(this::credentialsEnded, millis.getAsLong(), TimeUnit.MILLISECONDS);
  }

  private void credentialsEnded() {
    String explanation = "the client's credentials are no longer valid";
    if (state == State.OPENING) refuse(ReasonCode.NOT_AUTHORIZED, explanation);
    else fail(ReasonCode.NOT_AUTHORIZED, explanation);
  }

  /** In which version of the users its user was created, as {@link dunlin.broker.auth.Authentication#since} says. */
  void userSince(long version) {
    userSince = version;
  }

  /** Ends the connection if its client is banned by now, its user was deleted or disabled, or its tenant is suspended or being deleted. */
  void checkUser() {
    LiveSession live = session;
    if (live == null || state != State.LIVE) return;
    Entrance.Refused expelled = seat == null ? null : seat.expelled();
    if (expelled != null) {
      fail(expelled.connected(), expelled.explanation());
      return;
    }
    home.reception()
        .authentication()
        .turnedAway(peer(), live.clientId(), user, userSince)
        .ifPresent(away -> fail(away.reason() == ReasonCode.BANNED ? ReasonCode.ADMINISTRATIVE_ACTION : Refusal.inDisconnect(away.reason()), away.explanation()));
  }

  /** Called when the session tier has made this connection the session's owner. */
  void opened(Opening opened, LiveSession live) {
    opening = null;
    session = live;
    mark = home.comparison(range).mark();
    sessionExpirySeconds = opened.sessionExpirySeconds();
    user = opened.identity().user().equals(live.clientId()) ? live.clientId() : opened.identity().user(); // most often one text for both
    connectedAtMillis = loop().nowMillis();
    will = opened.hasWill();
    home.reception().watch().connected(peer(), live, opened.identity(), opened.sessionPresent());
    ConnectionId displaced = opened.displaced();
    if (displaced != null) {
      Runnable caughtUp = live.inbound().follow();
      home.reception().whenSettled(range, displaced, () -> loop().post(caughtUp));
      home.reception().watch().takenOver(live, displaced);
    }
    mustBeLeased();
    if (state != State.OPENING) {
      leaveSession();
      return;
    }
    live.checkAccess(); // a resumed session may have subscriptions that were allowed once
    state = State.LIVE;
    home.reception().index().add(live.publisher(), this);
    writer.useAliases(opened.aliases());
    home.keepAlive().watch(this, opened.keepAliveSeconds() * 1_500L);
    writer.writePacket(opened.connack());
    checkUser(); // something may have changed since the client was authenticated
    if (state != State.LIVE) return;
    resume(Hold.OPENING);
    if (behindAtOpening) live.inbox().behind();
    live.drained();
  }

  @Override
  public void tooLarge(Packet answer) {
    if (answer instanceof Packet.Connack) close();
    else if (!(answer instanceof Packet.Disconnect)) reject(ReasonCode.PACKET_TOO_LARGE, null);
  }

  void refuse(ReasonCode reason, @Nullable String explanation) {
    refuse(reason, explanation, "");
  }

  private void refuse(ReasonCode reason, @Nullable String explanation, String serverReference) {
    if (isEnding()) return;
    log.debug("Connection refused with {}: {}", reason, LogText.quoted(String.valueOf(explanation)));
    // MQTT 3 has no return code for most errors; then the connection is closed without CONNACK [3.1.1: MQTT-3.2.2-6].
    if (version().hasProperties() || PacketEncoder.connackReturnCode(reason) >= 0) {
      writer.writePacket(Packet.Connack.refused(reason, explanation, serverReference.isEmpty() ? null : serverReference));
    }
    close();
  }

  /** Closes the connection on an error, with CONNACK or, after CONNACK, with DISCONNECT. */
  void reject(ReasonCode reason, @Nullable String explanation) {
    if (state == State.AUTHENTICATING) refuse(reason, explanation);
    else fail(reason, explanation);
  }

  private ProtocolVersion version() {
    return writer.version();
  }

  boolean open() {
    return state == State.OPENING || state == State.LIVE;
  }

  boolean live() {
    return state == State.LIVE;
  }

  /** Whether nothing more is processed. */
  boolean isEnding() {
    return state == State.CLOSING || state == State.CLOSED;
  }

  boolean isClosed() {
    return state == State.CLOSED;
  }

  // --------------------------------------------------------------------------------------------------- packets of a live client

  private LiveSession client() {
    return Objects.requireNonNull(session, "the decoder allows no other packet before CONNECT");
  }

  @Override
  public void onPublish(InboundPublish publish) {
    loop().traffic().received(PacketType.PUBLISH);
    client().inbound().publish(publish);
    if (seat != null) seat.receivedMessage();
  }

  @Override
  public void onPuback(int packetId, ReasonCode reason) {
    loop().traffic().received(PacketType.PUBACK);
    client().outbound().puback(packetId);
  }

  @Override
  public void onPubrec(int packetId, ReasonCode reason) {
    loop().traffic().received(PacketType.PUBREC);
    client().outbound().pubrec(packetId, reason);
  }

  @Override
  public void onPubrel(int packetId, ReasonCode reason) {
    loop().traffic().received(PacketType.PUBREL);
    client().inbound().pubrel(packetId);
  }

  @Override
  public void onPubcomp(int packetId, ReasonCode reason) {
    loop().traffic().received(PacketType.PUBCOMP);
    client().outbound().pubcomp(packetId);
  }

  @Override
  public void onSubscribe(Packet.Subscribe packet) {
    loop().traffic().received(PacketType.SUBSCRIBE);
    client().subscriptions().subscribe(packet);
  }

  @Override
  public void onUnsubscribe(Packet.Unsubscribe packet) {
    loop().traffic().received(PacketType.UNSUBSCRIBE);
    client().subscriptions().unsubscribe(packet);
  }

  @Override
  public void onPingreq() {
    loop().traffic().received(PacketType.PINGREQ);
    writer.writePacket(new Packet.Pingresp());
  }

  @Override
  public void onAuth(Packet.Auth packet) {
    loop().traffic().received(PacketType.AUTH);
    if (admission != null) admission.auth(packet);
    else violated(ReasonCode.PROTOCOL_ERROR, null, "AUTH of a client without an authentication method"); // [MQTT-4.12.0-7]
  }

  @Override
  public void onDisconnect(Packet.Disconnect packet) {
    loop().traffic().received(PacketType.DISCONNECT);
    if (state == State.AUTHENTICATING) {
      close();
      return;
    }
    long expiryMax = loop().settings().sessions().expiryMax();
    // If the server grants no expiry at all, 0 here does not mean that the client requested none.
    if (packet.sessionExpirySeconds() > 0 && sessionExpirySeconds == 0 && expiryMax > 0) {
      violated(ReasonCode.PROTOCOL_ERROR, null, "DISCONNECT may not set an expiry for a session that had none");
      return;
    }
    ending = Ending.by(packet);
    if (packet.sessionExpirySeconds() >= 0) sessionExpirySeconds = Math.min(packet.sessionExpirySeconds(), expiryMax);
    close();
  }

  /**
   * Handles a message that the session tier pushes; false if this connection's session is not open yet or any more.
   */
  boolean pushed(InboxMessage message) {
    if (session == null || session.ended()) {
      behindAtOpening |= session == null && message.sequence() > 0;
      return false;
    }
    session.inbox().pushed(message);
    return true;
  }

  /** Called when more messages are stored for this connection's durable session than were pushed. */
  void behind() {
    if (session == null) behindAtOpening = true;
    else if (!session.ended()) session.inbox().behind();
  }

  // ------------------------------------------------------------------------------------------------------------------ the end

  @Override
  public void fail(ReasonCode reason, @Nullable String explanation) {
    end(reason, explanation, "");
  }

  @Override
  public void takenOver() {
    loop().afterSockets(() -> fail(ReasonCode.SESSION_TAKEN_OVER, "another connection uses this client identifier"));
  }

  /** Closes the connection and sends the client away, to another server if there is a reference. */
  void sendAway(ReasonCode reason, String explanation, String serverReference) {
    end(reason, explanation, serverReference);
  }

  private void end(ReasonCode reason, @Nullable String explanation, String serverReference) {
    if (isEnding()) return;
    log.debug("Connection of {} closed with {}: {}", clientId(), reason, LogText.quoted(String.valueOf(explanation)));
    loop().meters().disconnected(reason);
    ending = Ending.by(reason);
    if (state == State.LIVE && version().hasProperties()) {
      String reference = serverReference.isEmpty() ? null : serverReference;
      writer.writePacket(new Packet.Disconnect(reason, -1, explanation, reference, List.of()));
    }
    close();
  }

  @Override
  public void storeFailed(String what, @Nullable Throwable failure) {
    Throwable cause = failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    if (cause instanceof StaleSessionException) {
      takenOver();
      return;
    }
    loop().meters().storeFailed();
    fail(ReasonCode.SERVER_BUSY, what + " failed");
  }

  /** Whether it has a session, with this epoch. */
  boolean isOwner(long epoch) {
    return session != null && !session.ended() && session.epoch() == epoch;
  }

  boolean hasSession() {
    return session != null && !session.ended();
  }

  /** Asks the session tier whether another connection has taken its session; false without one. */
  CompletableFuture<Boolean> isTakenOver() {
    return session == null
        ? CompletableFuture.completedFuture(false)
        : loop().tiers().inbox().ranges().get(range).isTakenOver(session.ref());
  }

  int range() {
    return range;
  }

  byte mark() {
    return mark;
  }

  void mark(byte comparison) {
    mark = comparison;
  }

  /** What was pushed to it, and what it has acknowledged, may have been lost. */
  void readAgain() {
    if (state == State.LIVE && session != null && session.durable()) session.inbox().readAgain();
  }

  /**
   * Ends the connection if this node may have no clients any more. A process that stood still reads what its clients have sent before it hears of that, while they
   * have gone on at another node: it must not deliver that late. Nor must it open a session for them, or send CONNACK: the others may have counted the connection as lost.
   */
  void mustBeLeased() {
    if (open() && !loop().tiers().leased().getAsBoolean()) sessionTierLost();
  }

  @Override
  public void sessionTierLost() {
    if (session != null) session.forsake();
    String explanation = "the session could not be kept";
    if (state == State.OPENING) refuse(ReasonCode.SERVER_UNAVAILABLE, explanation);
    else fail(ReasonCode.SERVER_BUSY, explanation);
  }

  @Override
  void silent() {
    switch (state) {
      case AWAITING_CONNECT -> close();
      case LIVE -> {
        if (input.mustListen()) listen();
        else fail(ReasonCode.KEEP_ALIVE_TIMEOUT, "the client sent nothing for 1.5 times its Keep Alive");
      }
      case AUTHENTICATING -> {
        boolean client = admission != null && admission.waitsForClient();
        refuse(
            client ? ReasonCode.NOT_AUTHORIZED : ReasonCode.SERVER_UNAVAILABLE, "the client was not authenticated in time");
      }
      case OPENING -> refuse(ReasonCode.SERVER_UNAVAILABLE, "the session could not be opened in time");
      case CLOSING -> channel().close();
      case CLOSED -> {}
    }
  }

  private void listen() {
    home.keepAlive().watchAgain(this);
    input.listen();
  }

  /** Leaves the session, flushes the output and then closes; a peer that does not read is closed after a while. */
  void close() {
    if (isEnding()) return;
    state = State.CLOSING;
    giveUp();
    if (admission != null) admission.end();
    endIn(OptionalLong.empty());
    ByteBuf last = writer.take();
    home.keepAlive().watch(this, CLOSE_WAIT_MILLIS);
    // Not called directly from the session's code, which would continue with a session that was left.
    if (session == null) closeBehind(last);
    else loop().executor().execute(() -> closeBehind(last));
  }

  private void giveUp() {
    if (opening != null) opening.giveUp();
  }

  private void closeBehind(@Nullable ByteBuf last) {
    CompletableFuture<Void> left = leaveSession();
    if (last != null) loop().traffic().bytesSent(last.readableBytes());
    ChannelFuture written = last == null ? channel().newSucceededFuture() : context().writeAndFlush(last);
    var _ = left.thenRun(() -> written.addListener(ChannelFutureListener.CLOSE));
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    state = State.CLOSED;
    giveUp();
    if (admission != null) admission.end();
    endIn(OptionalLong.empty());
    home.socketMemory().settle(this, 0);
    home.socketMemory().forget(this);
    home.keepAlive().forget(this);
    home.table().remove(number);
    loop().meters().connectionClosed();
    if (seat != null) seat.leave();
    input.drop();
    leaveSession();
  }

  private CompletableFuture<Void> leaveSession() {
    if (session == null) return CompletableFuture.completedFuture(null);
    home.reception().index().remove(session.publisher(), this);
    return ending.leave(home, session, sessionExpirySeconds);
  }

  private String clientId() {
    return session == null ? "a client" : LogText.quoted(session.clientId());
  }

  /**
   * The client has closed its side or the whole connection. The connection ends as soon as its previous packets are
   * processed.
   */
  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) input.end();
    else if (Listener.isRevocation(event)) fail(ReasonCode.NOT_AUTHORIZED, "the client's certificate is revoked");
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (state != State.LIVE || session == null || !ctx.channel().isWritable()) return;
    session.writableAgain();
    resume(Hold.SOCKET);
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this interface is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // Handlers in front of this one read the client's bytes and throw if they are invalid.
    if (cause instanceof IOException || cause instanceof DecoderException) {
      log.debug("Connection of {} broke: {}", clientId(), LogText.quoted(cause.toString()));
    } else {
      loop().meters().unexpected("a connection failed", cause);
    }
    ctx.close();
  }

  // Other events of a handler are not used here.

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {}

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {}

  @Override
  public void channelRegistered(ChannelHandlerContext ctx) {}

  @Override
  public void channelUnregistered(ChannelHandlerContext ctx) {}

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {}
}
