package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import java.util.ArrayList;
import java.util.List;

/**
 * A publisher, a durable subscriber and an online one, each of which stays connected to its broker whatever happens to others. Publishes with each QoS in
 * turn, and checks what arrives.
 */
public final class StayingClients implements AutoCloseable {
  private static final String TOPIC = "staying";
  private static final String LAST = "last ";

  private final RawClient publisher;
  private final RawClient durable;
  private final RawClient online;
  private final List<String> accepted = new ArrayList<>();
  private int published;

  /**
   * @param name tells them from others
   * @param one the port of the broker of the publisher and the online subscriber
   * @param two the port of the broker of the durable subscriber
   */
  public StayingClients(String name, int one, int two) {
    durable = ClusterClients.connected(two, Connect.of("durable " + name).clean());
    durable.subscribe(TOPIC, 2);
    online = ClusterClients.connected(one, Connect.of("online " + name).clean().expiry(0));
    online.subscribe(TOPIC, 2);
    publisher = ClusterClients.connected(one, Connect.of("publisher " + name).clean());
  }

  /** Publishes the next message, with QoS 0, 1 or 2. It may be refused. */
  public void publish() {
    int number = ++published;
    switch (number % 3) {
      case 0 -> publisher.publish(TOPIC, 0, 0, text(number));
      case 1 -> notes(number, publisher.publishAndWait(TOPIC, text(number)));
      default -> notes(number, publishOnce(number));
    }
  }

  private void notes(int number, int reason) {
    if (reason < 0x80) accepted.add(text(number));
  }

  private static String text(int number) {
    return "message " + number;
  }

  private int publishOnce(int number) {
    publisher.publish(TOPIC, text(number), 2, 40_000 + number, false, false);
    int reason = publisher.next(RawClient.PUBREC).reason();
    if (reason >= 0x80) return reason;
    publisher.pubrel(40_000 + number);
    publisher.next(RawClient.PUBCOMP);
    return reason;
  }

  /** Publishes until a message is accepted, and checks that everything that was accepted arrives in its order, and only once unless its QoS is 1. */
  public void check() {
    int tries = 1;
    while (publisher.publishAndWait(TOPIC, LAST + tries) >= 0x80) tries++;
    String end = LAST + tries;
    for (RawClient subscriber : List.of(durable, online)) {
      var received = new ArrayList<String>();
      for (String text = received(subscriber); !text.equals(end); text = received(subscriber)) if (!text.startsWith(LAST)) received.add(text);
      assertThat(received).containsSubsequence(accepted);
      var numbers = assertThat(received).map(text -> Integer.parseInt(text.substring("message ".length())));
      numbers.filteredOn(number -> number % 3 != 1).doesNotHaveDuplicates(); // QoS 1 may come twice
      numbers.filteredOn(number -> number % 3 != 0).isSorted();
    }
    accepted.clear();
    for (RawClient client : List.of(publisher, durable, online)) client.ping();
  }

  /** The text of the next message. Its exchange is completed. */
  public static String received(RawClient subscriber) {
    var publish = subscriber.next(RawClient.PUBLISH);
    if (publish.qos() == 1) subscriber.puback(publish.packetId());
    if (publish.qos() == 2) {
      subscriber.pubrec(publish.packetId());
      subscriber.next(RawClient.PUBREL);
      subscriber.pubcomp(publish.packetId());
    }
    return publish.text();
  }

  @Override
  public void close() {
    for (RawClient client : List.of(publisher, durable, online)) client.close();
  }
}
