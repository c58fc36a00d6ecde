package dunlin.broker.codec;

/** A pair of texts that means something to the application only; names may repeat, order counts; MQTT 5, section 2.2.2.2. */
public record UserProperty(String name, String value) {}
