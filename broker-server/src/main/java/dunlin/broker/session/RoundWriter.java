package dunlin.broker.session;

import dunlin.broker.codec.Packet;
import dunlin.broker.codec.PacketEncoder;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.codec.TopicAliases;
import dunlin.broker.meter.PacketType;
import dunlin.broker.meter.Traffic;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.jspecify.annotations.Nullable;

/**
 * Writes packets to one client, within the limits of its CONNECT, and collects what is written in a round of the loop
 * in one buffer.
 */
public final class RoundWriter {
  /*
   * Owner: the connection's event loop.
   * Bounds: a buffer of CHUNK or of one packet; full ones go to the channel. PUBLISH packets are only written while the
   * socket accepts more; a client that does not read the answers to its own packets is not read from (Hold.SOCKET).
   * Failure: an answer that is larger than the client accepts ends its connection, because the client would wait for it
   * for ever.
   */
  private static final int CHUNK = 64 * 1_024;
  private static final int CHUNK_MIN = 256;

  private final ClientConnection connection;

  private ProtocolVersion version = ProtocolVersion.MQTT_3_1_1;
  private long maximumPacketSize;
  private boolean problemInformation = true;
  private @Nullable TopicAliases aliases;
  private @Nullable ByteBuf out;
  private int sizeHint = CHUNK_MIN;
  private boolean flushDue;

  public RoundWriter(ClientConnection connection) {
    this.connection = connection;
  }

  public ProtocolVersion version() {
    return version;
  }

  /** Sets the version of answers to a client of which nothing else is known. */
  public void version(ProtocolVersion answerIn) {
    version = answerIn;
  }

  /** Applies the limits of a CONNECT. */
  public void heed(Packet.Connect connect) {
    version = connect.version();
    maximumPacketSize = connect.maximumPacketSize();
    problemInformation = connect.requestProblemInformation();
  }

  public void useAliases(@Nullable TopicAliases taken) {
    aliases = taken;
  }

  /** Number of bytes written in this round. */
  public int waitingBytes() {
    return out == null ? 0 : out.readableBytes();
  }

  /**
   * Writes a PUBLISH, with a topic alias if the client accepts aliases and that saves bytes.
   *
   * @return false if it is larger than the client's Maximum Packet Size and was not written [MQTT-3.1.2-24]
   */
  boolean writePublish(
      Publication message, QoS qos, boolean duplicate, boolean retain, int packetId, int[] identifiers) {
    TopicAliases known = aliases;
    int alias = known == null ? 0 : known.find(message);
    int length = PacketEncoder.publishLength(version, message, qos, identifiers, alias);
    if (maximumPacketSize != 0 && length > maximumPacketSize) {
      if (alias <= 0) return false;
      alias = 0; // the first use of an alias makes the packet longer, and must not make it too large
      length = PacketEncoder.publishLength(version, message, qos, identifiers, 0);
      if (length > maximumPacketSize) return false;
    }
    PacketEncoder.publish(
        room(length), version, message, qos, duplicate, retain, packetId, identifiers, alias, connection.loop().nowMillis());
    if (known != null && alias > 0) known.assigned(message);
    traffic().sent(PacketType.PUBLISH);
    connection.published(length);
    return true;
  }

  /** The client's Maximum Packet Size; 0 for no limit. */
  long maximumPacketSize() {
    return maximumPacketSize;
  }

  /** The bytes of a PUBLISH, for an operator; with a topic alias they are fewer. */
  int lengthOf(Publication message, QoS qos, int[] identifiers) {
    return PacketEncoder.publishLength(version, message, qos, identifiers, 0);
  }

  /** Whether topics may have aliases. */
  boolean usesAliases() {
    return aliases != null;
  }

  void writePuback(int packetId, ReasonCode reason) {
    PacketEncoder.puback(room(8), version, packetId, reason);
    traffic().sent(PacketType.PUBACK);
  }

  void writePubrec(int packetId, ReasonCode reason) {
    PacketEncoder.pubrec(room(8), version, packetId, reason);
    traffic().sent(PacketType.PUBREC);
  }

  void writePubrel(int packetId, ReasonCode reason) {
    PacketEncoder.pubrel(room(8), version, packetId, reason);
    traffic().sent(PacketType.PUBREL);
  }

  void writePubcomp(int packetId, ReasonCode reason) {
    PacketEncoder.pubcomp(room(8), version, packetId, reason);
    traffic().sent(PacketType.PUBCOMP);
  }

  /** Writes any other packet, without its reason string if the client did not request one [MQTT-3.1.2-29]. */
  public void writePacket(Packet packet) {
    boolean mayExplain = problemInformation || packet instanceof Packet.Connack || packet instanceof Packet.Disconnect;
    Packet sent = mayExplain ? packet : packet.withoutProblemInformation(false);
    if (PacketEncoder.encode(room(CHUNK_MIN), version, sent, maximumPacketSize)) traffic().sent(PacketType.of(packet));
    else connection.tooLarge(packet);
  }

  /** The buffer of this round, with room for at least this many bytes. */
  private ByteBuf room(int bytes) {
    flushSoon();
    ByteBuf current = out;
    if (current != null && current.readableBytes() + bytes > CHUNK) {
      out = null;
      pass(current);
      current = null;
    }
    if (current == null) {
      int size = Math.max(bytes, sizeHint);
      out = current = context().alloc().directBuffer(size);
      connection.takesMemory(size);
    }
    return current;
  }

  private ChannelHandlerContext context() {
    return connection.context();
  }

  private Traffic.Local traffic() {
    return connection.loop().traffic();
  }

  private void pass(ByteBuf buffer) {
    traffic().bytesSent(buffer.readableBytes());
    context().write(buffer, context().voidPromise());
  }

  /** Schedules a flush of the connection at the end of the round. */
  void flushSoon() {
    if (flushDue) return;
    flushDue = true;
    connection.loop().written(connection);
  }

  /** Flushes at the end of a round. */
  public void flush() {
    flushDue = false;
    ByteBuf buffer = take();
    if (buffer != null) {
      sizeHint = Math.clamp(Integer.highestOneBit(buffer.readableBytes()) * 2L, CHUNK_MIN, CHUNK);
      pass(buffer);
    }
    context().flush();
  }

  /** Discards what was written, because the connection has ended. */
  public void discard() {
    flushDue = false;
    ByteBuf buffer = take();
    if (buffer != null) buffer.release();
  }

  /** Answers what was written and passes its ownership to the caller; null if nothing was written. */
  public @Nullable ByteBuf take() {
    ByteBuf buffer = out;
    out = null;
    return buffer;
  }
}
