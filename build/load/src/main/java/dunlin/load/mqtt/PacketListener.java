package dunlin.load.mqtt;

import io.netty.buffer.ByteBuf;

/** Receives the broker's packets one by one. Buffers are valid until the call returns. */
public interface PacketListener {
  /** @param code a return code of 3.1.1 or a reason code of 5.0 */
  void connack(boolean sessionPresent, int code, Limits limits);

  /**
   * A PUBLISH.
   *
   * @param packetId 0 with QoS 0
   * @param payloadIndex where the payload begins in the buffer
   */
  void publish(int qos, boolean dup, boolean retain, int packetId, ByteBuf in, int payloadIndex, int payloadLength);

  /** PUBACK, PUBREC, PUBREL or PUBCOMP, with 0 for a reason that was left out. */
  void ack(int type, int packetId, int reason);

  /** A SUBACK, with one code for each filter from an index on. */
  void suback(int packetId, ByteBuf in, int codesIndex, int codes);

  void pingresp();

  /** A DISCONNECT from the broker, which 5.0 allows. */
  void disconnect(int reason);
}
