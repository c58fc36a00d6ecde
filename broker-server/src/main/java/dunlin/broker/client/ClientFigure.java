package dunlin.broker.client;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What connected clients are compared by, to find those with most of it. */
public enum ClientFigure {
  /** Messages of QoS 1 and 2 that wait on this node for the client. */
  QUEUED,
  /** Bytes of these messages. */
  QUEUED_BYTES,
  /** Messages of QoS 1 and 2 that were sent to the client and are not acknowledged. */
  IN_FLIGHT,
  /** Publishes of the client that are not answered. */
  RECEIVING,
  /** Bytes that wait for the client's socket. */
  SOCKET_BYTES,
  SUBSCRIPTIONS,
  /** Time since the oldest message was accepted that waits for the client or is in flight to it. */
  OLDEST,
  /** Its publishes a second, by a difference of two readings. */
  PUBLISHED_RATE,
  /** Messages that the client is sent a second, as well. */
  SENT_RATE;

  /** The names of all, as the admin API spells them. */
  public static final List<String> LABELS = Arrays.stream(values()).map(ClientFigure::label).toList();

  /** As the admin API spells it: {@code queued-bytes}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** How much of it a client has. */
  public long of(ClientsMXBean.ClientRow client) {
    return switch (this) {
      case QUEUED -> client.queued();
      case QUEUED_BYTES -> client.queuedBytes();
      case IN_FLIGHT -> client.inFlight();
      case RECEIVING -> client.receiving();
      case SOCKET_BYTES -> client.socketBytes();
      case SUBSCRIPTIONS -> client.subscriptions();
      case OLDEST -> client.oldestMillis();
      case PUBLISHED_RATE, SENT_RATE -> client.perSecond();
    };
  }

  /** @throws IllegalArgumentException when there is none of this label */
  public static ClientFigure of(String label) {
    return Arrays.stream(values())
        .filter(figure -> figure.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("clients are compared by one of " + LABELS));
  }
}
