package dunlin.broker.codec;

import dunlin.model.ReasonCode;

/** Counts packets and ignores them. */
class Ignoring implements PacketHandler {
  int packets;

  @Override
  public void onConnect(Packet.Connect packet) {
    packets++;
  }

  @Override
  public void onPublish(InboundPublish publish) {
    packets++;
  }

  @Override
  public void onPuback(int packetId, ReasonCode reason) {
    packets++;
  }

  @Override
  public void onPubrec(int packetId, ReasonCode reason) {
    packets++;
  }

  @Override
  public void onPubrel(int packetId, ReasonCode reason) {
    packets++;
  }

  @Override
  public void onPubcomp(int packetId, ReasonCode reason) {
    packets++;
  }

  @Override
  public void onSubscribe(Packet.Subscribe packet) {
    packets++;
  }

  @Override
  public void onUnsubscribe(Packet.Unsubscribe packet) {
    packets++;
  }

  @Override
  public void onPingreq() {
    packets++;
  }

  @Override
  public void onDisconnect(Packet.Disconnect packet) {
    packets++;
  }

  @Override
  public void onAuth(Packet.Auth packet) {
    packets++;
  }
}
