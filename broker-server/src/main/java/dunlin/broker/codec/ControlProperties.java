package dunlin.broker.codec;

import dunlin.model.ReasonCode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The properties of a client's packet other than PUBLISH, checked and typed; MQTT 5, section 2.2.2. */
final class ControlProperties {
  private static final int RECEIVE_MAXIMUM_DEFAULT = 65_535;

  private long sessionExpirySeconds = -1;
  private int receiveMaximum = RECEIVE_MAXIMUM_DEFAULT;
  private long maximumPacketSize;
  private int topicAliasMaximum;
  private boolean requestResponseInformation;
  private boolean requestProblemInformation = true;
  private @Nullable String authenticationMethod;
  private byte @Nullable [] authenticationData;
  private @Nullable String reasonString;
  private int subscriptionIdentifier;
  private List<UserProperty> userProperties = List.of();

  private ControlProperties() {}

  /** The properties of an MQTT 3 packet, or of one that is too short to have any. */
  static ControlProperties none() {
    return new ControlProperties();
  }

  /** Reads properties with their length. */
  static ControlProperties read(PacketReader reader, long allowed, String packet) {
    var properties = new ControlProperties();
    int packetEnd = reader.narrow(reader.readPropertiesEnd());
    long seen = 0;
    while (reader.remaining() > 0) {
      int id = readId(reader, allowed, seen, packet);
      seen |= PropertyId.bit(id);
      properties.readValue(reader, id);
    }
    reader.narrow(packetEnd);
    return properties;
  }

  private void readValue(PacketReader reader, int id) {
    String name = PropertyId.name(id);
    switch (id) {
      case PropertyId.SESSION_EXPIRY_INTERVAL -> sessionExpirySeconds = reader.readInt(name);
      case PropertyId.RECEIVE_MAXIMUM -> receiveMaximum = (int) notZero(reader, name, reader.readShort(name));
      case PropertyId.MAXIMUM_PACKET_SIZE -> maximumPacketSize = notZero(reader, name, reader.readInt(name));
      case PropertyId.TOPIC_ALIAS_MAXIMUM -> topicAliasMaximum = reader.readShort(name);
      case PropertyId.REQUEST_RESPONSE_INFORMATION -> requestResponseInformation = readFlag(reader, id);
      case PropertyId.REQUEST_PROBLEM_INFORMATION -> requestProblemInformation = readFlag(reader, id);
      case PropertyId.AUTHENTICATION_METHOD -> authenticationMethod = reader.readText(name);
      case PropertyId.AUTHENTICATION_DATA -> authenticationData = reader.readBinary(name);
      case PropertyId.REASON_STRING -> reasonString = reader.readText(name);
      case PropertyId.SUBSCRIPTION_IDENTIFIER ->
          subscriptionIdentifier = (int) notZero(reader, name, reader.readVarint(name));
      case PropertyId.USER_PROPERTY -> {
        if (userProperties.isEmpty()) userProperties = new ArrayList<>();
        countUserProperty(reader, userProperties.size() + 1);
        userProperties.add(new UserProperty(reader.readText(name), reader.readText(name)));
      }
      default -> throw new IllegalStateException("allowed but not read: " + name);
    }
  }

  /**
   * Reads the identifier of the next property and checks that it is allowed here and not repeated.
   *
   * @param allowed the properties of this packet type, as bits
   * @param seen those already read
   */
  static int readId(PacketReader reader, long allowed, long seen, String packet) {
    // Formally a variable byte integer, but all identifiers are below 128: the longer form is either not minimal or unknown.
    int id = reader.readByte("property identifier");
    long bit = PropertyId.bit(id);
    if ((allowed & bit) == 0) {
      boolean fromServer =
          (allowed == PropertyId.IN_PUBLISH && id == PropertyId.SUBSCRIPTION_IDENTIFIER) // [MQTT-3.3.4-6]
              || (allowed == PropertyId.IN_DISCONNECT && id == PropertyId.SERVER_REFERENCE);
      if (fromServer) throw reader.protocolError(PropertyId.name(id) + " in a client's " + packet);
      throw reader.malformed(PropertyId.name(id) + " in " + packet);
    }
    if ((seen & bit) != 0 && id != PropertyId.USER_PROPERTY) {
      throw reader.protocolError(PropertyId.name(id) + " twice in " + packet);
    }
    return id;
  }

  static boolean readFlag(PacketReader reader, int id) {
    int value = reader.readByte(PropertyId.name(id));
    if (value > 1) throw reader.protocolError(PropertyId.name(id) + ' ' + value);
    return value == 1;
  }

  static void countUserProperty(PacketReader reader, int count) {
    int max = reader.limits().packets().userPropertiesMax();
    if (count <= max) return;
    throw reader.exceeded(Limit.USER_PROPERTIES, ReasonCode.QUOTA_EXCEEDED, "too many user properties in one packet", max);
  }

  private static long notZero(PacketReader reader, String name, long value) {
    if (value == 0) throw reader.protocolError(name + " 0");
    return value;
  }

  /** Session Expiry Interval, -1 if absent. */
  long sessionExpirySeconds() {
    return sessionExpirySeconds;
  }

  int receiveMaximum() {
    return receiveMaximum;
  }

  /** Maximum Packet Size, 0 if absent. */
  long maximumPacketSize() {
    return maximumPacketSize;
  }

  int topicAliasMaximum() {
    return topicAliasMaximum;
  }

  boolean requestResponseInformation() {
    return requestResponseInformation;
  }

  boolean requestProblemInformation() {
    return requestProblemInformation;
  }

  @Nullable String authenticationMethod() {
    return authenticationMethod;
  }

  byte @Nullable [] authenticationData() {
    return authenticationData;
  }

  @Nullable String reasonString() {
    return reasonString;
  }

  /** Subscription Identifier, 0 if absent. */
  int subscriptionIdentifier() {
    return subscriptionIdentifier;
  }

  List<UserProperty> userProperties() {
    return userProperties;
  }
}
