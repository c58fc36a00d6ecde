package dunlin.broker.codec;

import dunlin.model.ReasonCode;

/**
 * Handles the packets of one client in order, on the connection's event loop.
 *
 * <p>All packets are well-formed and within the limits. The handler has to check whether they are allowed at that time
 * (order of packets, identifiers in use, topic filters, rights). The packets of the publish handshakes are handed over
 * without an allocation.
 */
public interface PacketHandler {
  void onConnect(Packet.Connect packet);

  /**
   * The publish is valid only until this method returns; {@link InboundPublish#toPublication} makes a copy that can be
   * kept.
   */
  void onPublish(InboundPublish publish);

  void onPuback(int packetId, ReasonCode reason);

  void onPubrec(int packetId, ReasonCode reason);

  void onPubrel(int packetId, ReasonCode reason);

  void onPubcomp(int packetId, ReasonCode reason);

  void onSubscribe(Packet.Subscribe packet);

  void onUnsubscribe(Packet.Unsubscribe packet);

  void onPingreq();

  void onDisconnect(Packet.Disconnect packet);

  void onAuth(Packet.Auth packet);
}
