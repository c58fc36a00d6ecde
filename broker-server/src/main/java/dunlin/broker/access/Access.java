package dunlin.broker.access;

import dunlin.model.QoS;

/**
 * One thing that a client wants to do.
 *
 * @param topic a topic name, or a topic filter without the prefix of a shared subscription
 * @param qos of the message; of a subscription the maximum that it asks for
 * @param retain the RETAIN flag of the message; false for a subscription
 * @param group the group of a shared subscription, else empty
 */
public record Access(AccessAction action, String topic, QoS qos, boolean retain, String group) {
  public static Access publish(String topic, QoS qos, boolean retain) {
    return new Access(AccessAction.PUBLISH, topic, qos, retain, "");
  }

  public static Access subscribe(String filter, QoS qos, String group) {
    return new Access(AccessAction.SUBSCRIBE, filter, qos, false, group);
  }

  public static Access receive(String topic, QoS qos, boolean retain) {
    return new Access(AccessAction.RECEIVE, topic, qos, retain, "");
  }
}
