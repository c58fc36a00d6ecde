package dunlin.transport.trace;

import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Which messages a trace follows: those that meet each criterion that is given.
 *
 * @param tenant of publisher and subscribers
 * @param client client identifier of the publisher or, at the hops behind the routes, of the subscriber; empty for any
 * @param topic a topic filter, not a shared subscription; empty for any topic
 * @param address IP address that the connection of the client at the hop comes from; empty for any. It is known where clients are connected only
 */
record TraceCriteria(String tenant, String client, String topic, String address) {
  /** @throws IllegalArgumentException when there is none but the tenant, or when one is not what it should be */
  TraceCriteria {
    if (tenant.isEmpty()) throw new IllegalArgumentException("a trace is of one tenant");
    if (Stream.of(client, topic, address).allMatch(String::isEmpty)) {
      throw new IllegalArgumentException("a trace follows a client, a topic filter or an address: at least one of them is to be given");
    }
    if (!topic.isEmpty() && plain(topic).isEmpty()) throw new IllegalArgumentException("not a topic filter without a shared subscription: " + shown(topic));
    if (!address.isEmpty()) inet(address);
  }

  private static Optional<TopicFilter> plain(String text) {
    return TopicFilter.parse(text).filter(parsed -> !parsed.shared());
  }

  private static InetAddress inet(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException notOne) {
      throw new IllegalArgumentException("not an IP address: " + shown(text), notOne);
    }
  }

  /** Clients and operators choose these texts; what is quoted in an answer is short. */
  private static String shown(String text) {
    return text.length() <= 100 ? text : text.substring(0, 100) + "...";
  }

  /** What is asked of each message while a trace runs. */
  Question question() {
    return new Question(
        tenant, client, client.hashCode(), topic.isEmpty() ? null : new TopicMatch(plain(topic).orElseThrow()), address.isEmpty() ? null : inet(address));
  }

  /**
   * The criteria in the form in which they cost least.
   *
   * @param hash of the client identifier: texts keep theirs, so that most clients are distinguished by a number
   */
  record Question(String tenant, String client, int hash, @Nullable TopicMatch topic, @Nullable InetAddress address) {
    /** Whether publisher or client at the hop meet the criteria, whatever the topic. */
    boolean meets(Publication message, Trace.@Nullable Party party) {
      if (!client.isEmpty() && !isIt(message.publisher().clientId()) && (party == null || !isIt(party.clientId()))) return false;
      return address == null || (party != null && isAt(party));
    }

    /** Whether topic and tenant meet the criteria, whatever the client at the hop. */
    boolean concerns(Publication message) {
      return (topic == null || topic.matches(message.body(), message.topicLength())) && message.tenant().equals(tenant);
    }

    private boolean isIt(String clientId) {
      return clientId.hashCode() == hash && clientId.equals(client);
    }

    private boolean isAt(Trace.Party party) {
      return party.address() instanceof InetSocketAddress internet && internet.getAddress() != null && internet.getAddress().equals(address);
    }
  }
}
