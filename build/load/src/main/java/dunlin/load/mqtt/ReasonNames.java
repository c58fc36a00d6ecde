package dunlin.load.mqtt;

/** The names of return codes and reason codes, as the specifications spell them. */
public final class ReasonNames {
  private ReasonNames() {}

  /** The name of a return code in a CONNACK of 3.1.1, table 3.1. */
  public static String ofReturnCode(int code) {
    return switch (code) {
      case 0 -> "accepted";
      case 1 -> "unacceptable protocol version";
      case 2 -> "identifier rejected";
      case 3 -> "server unavailable";
      case 4 -> "bad user name or password";
      case 5 -> "not authorized";
      default -> "return code " + code;
    };
  }

  /** The name of a reason code of 5.0, table 2-6. */
  public static String ofReasonCode(int code) {
    String name =
        switch (code) {
          case 0x00 -> "success";
          case 0x04 -> "disconnect with will message";
          case 0x10 -> "no matching subscribers";
          case 0x80 -> "unspecified error";
          case 0x81 -> "malformed packet";
          case 0x82 -> "protocol error";
          case 0x83 -> "implementation specific error";
          case 0x84 -> "unsupported protocol version";
          case 0x85 -> "client identifier not valid";
          case 0x86 -> "bad user name or password";
          case 0x87 -> "not authorized";
          case 0x88 -> "server unavailable";
          case 0x89 -> "server busy";
          case 0x8A -> "banned";
          case 0x8B -> "server shutting down";
          case 0x8C -> "bad authentication method";
          case 0x8D -> "keep alive timeout";
          case 0x8E -> "session taken over";
          case 0x8F -> "topic filter invalid";
          case 0x90 -> "topic name invalid";
          case 0x91 -> "packet identifier in use";
          case 0x92 -> "packet identifier not found";
          case 0x93 -> "receive maximum exceeded";
          case 0x94 -> "topic alias invalid";
          case 0x95 -> "packet too large";
          case 0x96 -> "message rate too high";
          case 0x97 -> "quota exceeded";
          case 0x98 -> "administrative action";
          case 0x99 -> "payload format invalid";
          case 0x9A -> "retain not supported";
          case 0x9B -> "QoS not supported";
          case 0x9C -> "use another server";
          case 0x9D -> "server moved";
          case 0x9E -> "shared subscriptions not supported";
          case 0x9F -> "connection rate exceeded";
          case 0xA0 -> "maximum connect time";
          case 0xA1 -> "subscription identifiers not supported";
          case 0xA2 -> "wildcard subscriptions not supported";
          default -> "reason code";
        };
    return "0x%02X %s".formatted(code, name);
  }
}
