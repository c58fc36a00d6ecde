package dunlin.broker.meter;

import dunlin.broker.codec.Packet;
import java.util.Locale;

/** The types of control packets, and who sends them; MQTT 5, section 2.1.2. */
public enum PacketType {
  CONNECT(1, true, false),
  CONNACK(2, false, true),
  PUBLISH(3, true, true),
  PUBACK(4, true, true),
  PUBREC(5, true, true),
  PUBREL(6, true, true),
  PUBCOMP(7, true, true),
  SUBSCRIBE(8, true, false),
  SUBACK(9, false, true),
  UNSUBSCRIBE(10, true, false),
  UNSUBACK(11, false, true),
  PINGREQ(12, true, false),
  PINGRESP(13, false, true),
  DISCONNECT(14, true, true),
  AUTH(15, true, true);

  private final int code;
  private final boolean fromClients;
  private final boolean fromServers;

  PacketType(int code, boolean fromClients, boolean fromServers) {
    this.code = code;
    this.fromClients = fromClients;
    this.fromServers = fromServers;
  }

  public static PacketType of(Packet packet) {
    return switch (packet) {
      case Packet.Connect _ -> CONNECT;
      case Packet.Connack _ -> CONNACK;
      case Packet.Puback _ -> PUBACK;
      case Packet.Pubrec _ -> PUBREC;
      case Packet.Pubrel _ -> PUBREL;
      case Packet.Pubcomp _ -> PUBCOMP;
      case Packet.Subscribe _ -> SUBSCRIBE;
      case Packet.Suback _ -> SUBACK;
      case Packet.Unsubscribe _ -> UNSUBSCRIBE;
      case Packet.Unsuback _ -> UNSUBACK;
      case Packet.Pingreq _ -> PINGREQ;
      case Packet.Pingresp _ -> PINGRESP;
      case Packet.Disconnect _ -> DISCONNECT;
      case Packet.Auth _ -> AUTH;
    };
  }

  public int code() {
    return code;
  }

  public boolean fromClients() {
    return fromClients;
  }

  public boolean fromServers() {
    return fromServers;
  }

  /** The name in meters and topics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
