package dunlin.broker.loop;

import dunlin.model.Publication;

/**
 * Topics in which only the broker itself speaks: a client that could publish there would be taken for it. MQTT 5, section 4.7.2,
 * leaves topics that begin with {@code $} to the server.
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
