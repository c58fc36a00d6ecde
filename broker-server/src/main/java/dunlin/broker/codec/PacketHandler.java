package dunlin.broker.codec;

import dunlin.model.ReasonCode;

/**
 * Takes the packets of one client in the order in which they came, on the connection's event loop.
 *
 * <p>What a method gets is well-formed and within the limits; whether it is allowed now (order of packets, identifiers in use,
 * topic filters, rights) is for the handler to find out. Packets of every publish are handed over without an allocation.
 */
public interface PacketHandler {
  void onConnect(Packet.Connect packet);

  /** The publish is valid only until this method returns; {@link InboundPublish#toPublication} makes a lasting copy. */
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
