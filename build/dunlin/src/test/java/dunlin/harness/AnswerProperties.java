package dunlin.harness;

import dunlin.harness.ServerRules.Property;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The properties of a server's packet of MQTT 5, by their identifiers: numbers as Long, texts as String. */
public final class AnswerProperties {
  public static final int RESPONSE_INFORMATION = 0x1A;
  public static final int SERVER_REFERENCE = 0x1C;
  public static final int REASON_STRING = 0x1F;

  private final Map<Integer, Object> values = new HashMap<>();

  private AnswerProperties(List<Property> properties) {
    for (Property each : properties) values.put(each.id(), each.text().isEmpty() ? (Object) each.number() : each.text());
  }

  /** Reads the properties of a CONNACK, PUBACK, PUBREC, SUBACK, UNSUBACK or DISCONNECT. */
  public static AnswerProperties of(RawClient.Packet packet) {
    return new AnswerProperties(packet.properties());
  }

  public Map<Integer, Object> all() {
    return values;
  }

  public @Nullable String reasonString() {
    return (String) values.get(REASON_STRING);
  }

  public @Nullable String serverReference() {
    return (String) values.get(SERVER_REFERENCE);
  }
}
