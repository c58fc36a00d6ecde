package dunlin;

import dunlin.ServerRules.Property;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The properties of a server's packet of MQTT 5, by their identifiers: numbers as Long, texts as String. */
final class AnswerProperties {
  static final int RESPONSE_INFORMATION = 0x1A;
  static final int SERVER_REFERENCE = 0x1C;
  static final int REASON_STRING = 0x1F;

  private final Map<Integer, Object> values = new HashMap<>();

  private AnswerProperties(List<Property> properties) {
    for (Property each : properties) values.put(each.id(), each.text().isEmpty() ? (Object) each.number() : each.text());
  }

  /** Reads the properties of a CONNACK, PUBACK, PUBREC, SUBACK, UNSUBACK or DISCONNECT. */
  static AnswerProperties of(RawClient.Packet packet) {
    return new AnswerProperties(packet.properties());
  }

  Map<Integer, Object> all() {
    return values;
  }

  @Nullable String reasonString() {
    return (String) values.get(REASON_STRING);
  }

  @Nullable String serverReference() {
    return (String) values.get(SERVER_REFERENCE);
  }
}
