package dunlin.broker.loop;

import dunlin.model.Publication;

/**
 * Topics that only the broker may publish to: a message of a client there would be mistaken for one of the broker. MQTT
 * 5, section 4.7.2, reserves topics that begin with {@code $} for the server.
 */
public final class ServersTopics {
  private static final String SYS = "$SYS";

  private ServersTopics() {}

  public static boolean has(Publication message) {
    byte[] body = message.body();
    int length = message.topicLength();
    if (body[0] != '$' || length < SYS.length() || (length > SYS.length() && body[SYS.length()] != '/')) return false;
    for (int i = 1; i < SYS.length(); i++) if (body[i] != SYS.charAt(i)) return false;
    return true;
  }

  public static boolean has(String topic) {
    return topic.startsWith(SYS) && (topic.length() == SYS.length() || topic.charAt(SYS.length()) == '/');
  }
}
