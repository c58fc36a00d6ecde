package dunlin.load.mqtt;

/** A topic filter that a client subscribes to, with the QoS that it asks for. */
public record Filter(byte[] text, int qos) {}
