package dunlin.broker.auth;

import dunlin.model.ReasonCode;

/** The reasons that an authenticator may give for refusing a client; MQTT 5, sections 3.2.2.2 and 3.14.2.1. */
public final class Refusal {
  private Refusal() {}

  /** Checks that a reason is an error code of CONNACK that is not about the form of the packet. */
  static void check(ReasonCode reason) {
    boolean allowed =
        switch (reason) {
          case UNSPECIFIED_ERROR,
              IMPLEMENTATION_SPECIFIC_ERROR,
              CLIENT_IDENTIFIER_NOT_VALID,
              BAD_USER_NAME_OR_PASSWORD,
              NOT_AUTHORIZED,
              SERVER_UNAVAILABLE,
              SERVER_BUSY,
              BANNED,
              BAD_AUTHENTICATION_METHOD,
              QUOTA_EXCEEDED,
              USE_ANOTHER_SERVER,
              SERVER_MOVED,
              CONNECTION_RATE_EXCEEDED ->
              true;
          default -> false;
        };
    if (!allowed) throw new IllegalArgumentException("not a reason code for refusing a client: " + reason);
  }

  /** The reason code for DISCONNECT when a connected client is refused. DISCONNECT has fewer codes than CONNACK. */
  public static ReasonCode inDisconnect(ReasonCode reason) {
    return switch (reason) {
      case UNSPECIFIED_ERROR,
          IMPLEMENTATION_SPECIFIC_ERROR,
          SERVER_BUSY,
          QUOTA_EXCEEDED,
          USE_ANOTHER_SERVER,
          SERVER_MOVED,
          CONNECTION_RATE_EXCEEDED ->
          reason;
      default -> ReasonCode.NOT_AUTHORIZED;
    };
  }
}
