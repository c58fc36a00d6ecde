package dunlin.broker.codec;

import dunlin.model.ReasonCode;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A client's bytes are not a packet that MQTT and this server's limits allow. The connection must be closed; MQTT 5,
 * section 4.13.
 *
 * <p>It has no stack trace, because clients can cause it at will; the message names the violation.
 */
public final class MalformedPacketException extends RuntimeException {
  private static final int QUOTED_MAX = 64;

  private final ReasonCode reason;
  private final @Nullable ProtocolVersion version;
  private final @Nullable Limit limit;

  MalformedPacketException(
      ReasonCode reason, @Nullable ProtocolVersion version, @Nullable Limit limit, String message) {
    super(message, null, false, false);
    this.reason = reason;
    this.version = version;
    this.limit = limit;
  }

  /** The reason code for CONNACK or DISCONNECT. */
  public ReasonCode reason() {
    return reason;
  }

  /**
   * The protocol version of the answer. Empty if not even the beginning of a CONNECT packet was read: then there is no
   * client to answer. A client of an unsupported version is answered in the form of MQTT 3.1.1 [3.1.1: MQTT-3.1.2-2].
   */
  public Optional<ProtocolVersion> version() {
    return Optional.ofNullable(version);
  }

  /** The limit of this server that was exceeded; empty if MQTT itself was violated. */
  public Optional<Limit> limit() {
    return Optional.ofNullable(limit);
  }

  /** A client's text for the log: in quotes, shortened, with everything but printable ASCII escaped. */
  static String quoted(String text) {
    var quoted = new StringBuilder(text.length() + 2).append('"');
    for (int i = 0; i < text.length(); i++) {
      if (i == QUOTED_MAX) return quoted.append("...\"").toString();
      char c = text.charAt(i);
      if (c == '"' || c == '\\') quoted.append('\\').append(c);
      else if (c >= 0x20 && c < 0x7F) quoted.append(c);
      else quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
    }
    return quoted.append('"').toString();
  }
}
