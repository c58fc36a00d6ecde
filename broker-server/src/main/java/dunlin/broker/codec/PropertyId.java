package dunlin.broker.codec;

/** Identifiers of MQTT 5's properties and the packets in which each is allowed; MQTT 5, table 2-4. */
final class PropertyId {
  static final int PAYLOAD_FORMAT_INDICATOR = 0x01;
  static final int MESSAGE_EXPIRY_INTERVAL = 0x02;
  static final int CONTENT_TYPE = 0x03;
  static final int RESPONSE_TOPIC = 0x08;
  static final int CORRELATION_DATA = 0x09;
  static final int SUBSCRIPTION_IDENTIFIER = 0x0B;
  static final int SESSION_EXPIRY_INTERVAL = 0x11;
  static final int ASSIGNED_CLIENT_IDENTIFIER = 0x12;
  static final int SERVER_KEEP_ALIVE = 0x13;
  static final int AUTHENTICATION_METHOD = 0x15;
  static final int AUTHENTICATION_DATA = 0x16;
  static final int REQUEST_PROBLEM_INFORMATION = 0x17;
  static final int WILL_DELAY_INTERVAL = 0x18;
  static final int REQUEST_RESPONSE_INFORMATION = 0x19;
  static final int RESPONSE_INFORMATION = 0x1A;
  static final int SERVER_REFERENCE = 0x1C;
  static final int REASON_STRING = 0x1F;
  static final int RECEIVE_MAXIMUM = 0x21;
  static final int TOPIC_ALIAS_MAXIMUM = 0x22;
  static final int TOPIC_ALIAS = 0x23;
  static final int MAXIMUM_QOS = 0x24;
  static final int RETAIN_AVAILABLE = 0x25;
  static final int USER_PROPERTY = 0x26;
  static final int MAXIMUM_PACKET_SIZE = 0x27;
  static final int WILDCARD_SUBSCRIPTION_AVAILABLE = 0x28;
  static final int SUBSCRIPTION_IDENTIFIERS_AVAILABLE = 0x29;
  static final int SHARED_SUBSCRIPTION_AVAILABLE = 0x2A;

  // Sets of identifiers are bits of a long: the highest identifier is 42.
  private static final int HIGHEST = 0x2A;

  /** Properties of a message itself, whatever connection it comes over. */
  static final long IN_MESSAGE =
      bits(PAYLOAD_FORMAT_INDICATOR, MESSAGE_EXPIRY_INTERVAL, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION_DATA, USER_PROPERTY);

  /** Properties that are allowed in a client's PUBLISH packet. */
  static final long IN_PUBLISH = IN_MESSAGE | bits(TOPIC_ALIAS);

  /** Properties that are allowed among the will properties of a CONNECT packet. */
  static final long IN_WILL = IN_MESSAGE | bits(WILL_DELAY_INTERVAL);

  static final long IN_CONNECT =
      bits(
          SESSION_EXPIRY_INTERVAL, AUTHENTICATION_METHOD, AUTHENTICATION_DATA, REQUEST_PROBLEM_INFORMATION,
          REQUEST_RESPONSE_INFORMATION, RECEIVE_MAXIMUM, TOPIC_ALIAS_MAXIMUM, USER_PROPERTY, MAXIMUM_PACKET_SIZE);

  static final long IN_SUBSCRIBE = bits(SUBSCRIPTION_IDENTIFIER, USER_PROPERTY);
  static final long IN_UNSUBSCRIBE = bits(USER_PROPERTY);
  static final long IN_ACKNOWLEDGEMENT = bits(REASON_STRING, USER_PROPERTY);
  static final long IN_AUTH = bits(AUTHENTICATION_METHOD, AUTHENTICATION_DATA, REASON_STRING, USER_PROPERTY);

  /**
   * Properties that are allowed in a client's DISCONNECT packet; the server's may have a Server Reference instead of an
   * expiry.
   */
  static final long IN_DISCONNECT = bits(SESSION_EXPIRY_INTERVAL, REASON_STRING, USER_PROPERTY);

  private PropertyId() {}

  /** The bit of an identifier, 0 for an unknown one. */
  static long bit(int id) {
    return id > HIGHEST ? 0 : 1L << id;
  }

  private static long bits(int... ids) {
    long bits = 0;
    for (int id : ids) bits |= bit(id);
    return bits;
  }

  /** The property's name as the specification spells it. */
  static String name(int id) {
    return switch (id) {
      case PAYLOAD_FORMAT_INDICATOR -> "Payload Format Indicator";
      case MESSAGE_EXPIRY_INTERVAL -> "Message Expiry Interval";
      case CONTENT_TYPE -> "Content Type";
      case RESPONSE_TOPIC -> "Response Topic";
      case CORRELATION_DATA -> "Correlation Data";
      case SUBSCRIPTION_IDENTIFIER -> "Subscription Identifier";
      case SESSION_EXPIRY_INTERVAL -> "Session Expiry Interval";
      case ASSIGNED_CLIENT_IDENTIFIER -> "Assigned Client Identifier";
      case SERVER_KEEP_ALIVE -> "Server Keep Alive";
      case AUTHENTICATION_METHOD -> "Authentication Method";
      case AUTHENTICATION_DATA -> "Authentication Data";
      case REQUEST_PROBLEM_INFORMATION -> "Request Problem Information";
      case WILL_DELAY_INTERVAL -> "Will Delay Interval";
      case REQUEST_RESPONSE_INFORMATION -> "Request Response Information";
      case RESPONSE_INFORMATION -> "Response Information";
      case SERVER_REFERENCE -> "Server Reference";
      case REASON_STRING -> "Reason String";
      case RECEIVE_MAXIMUM -> "Receive Maximum";
      case TOPIC_ALIAS_MAXIMUM -> "Topic Alias Maximum";
      case TOPIC_ALIAS -> "Topic Alias";
      case MAXIMUM_QOS -> "Maximum QoS";
      case RETAIN_AVAILABLE -> "Retain Available";
      case USER_PROPERTY -> "User Property";
      case MAXIMUM_PACKET_SIZE -> "Maximum Packet Size";
      case WILDCARD_SUBSCRIPTION_AVAILABLE -> "Wildcard Subscription Available";
      case SUBSCRIPTION_IDENTIFIERS_AVAILABLE -> "Subscription Identifiers Available";
      case SHARED_SUBSCRIPTION_AVAILABLE -> "Shared Subscription Available";
      default -> "property " + id;
    };
  }
}
