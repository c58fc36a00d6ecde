package dunlin.load.mqtt;

/** The types of MQTT control packets, as in the upper four bits of a packet. */
public final class PacketType {
  public static final int CONNECT = 1;
  public static final int CONNACK = 2;
  public static final int PUBLISH = 3;
  public static final int PUBACK = 4;
  public static final int PUBREC = 5;
  public static final int PUBREL = 6;
  public static final int PUBCOMP = 7;
  public static final int SUBSCRIBE = 8;
  public static final int SUBACK = 9;
  public static final int PINGREQ = 12;
  public static final int PINGRESP = 13;
  public static final int DISCONNECT = 14;

  private PacketType() {}
}
