package dunlin.broker.codec;

/**
 * A name and value that only applications interpret; names may repeat, and the order is significant; MQTT 5, section
 * 2.2.2.2.
 */
public record UserProperty(String name, String value) {}
