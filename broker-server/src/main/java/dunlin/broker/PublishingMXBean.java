package dunlin.broker;

import dunlin.runtime.metrics.Description;

/** Publishes for an operator, by JMX: {@code dunlin:type=Publishing,node=<id>}. What cannot be published is refused with the reason. */
@Description("Publishes messages")
public interface PublishingMXBean {
  /** @param reason as MQTT 5 names the reason code of PUBACK, such as success or no-matching-subscribers */
  record Answer(String reason, int code) {}

  @Description("Publishes a message. With QoS 1 and 2 it answers when a PUBACK would be sent, within a minute")
  Answer publish(
      @Description("Tenant of the subscribers") String tenant,
      @Description("The topic name") String topic,
      @Description("Quality of service, 0 to 2") int qos,
      @Description("Whether it becomes the topic's retained message") boolean retain,
      @Description(value = "The payload in Base64", concealed = true) String payload);
}
