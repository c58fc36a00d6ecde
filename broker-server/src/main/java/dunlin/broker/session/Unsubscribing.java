package dunlin.broker.session;

import dunlin.broker.codec.Packet;
import dunlin.model.ReasonCode;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** An UNSUBSCRIBE packet that is not answered yet; MQTT 5, sections 3.10 and 3.11. */
final class Unsubscribing {
  /*
   * Owner: the connection's event loop.
   * Bounds: the packet is never refused for want of memory, so what it keeps must be less than what it frees: a call with the subscriptions that it ends,
   * and two bits for each of its topic filters, of which most may have no subscription.
   */
  final int packetId;
  private final int filters;
  private final BitSet ended;
  private final BitSet invalid = new BitSet(0);
  private @Nullable String explanation;
  private int bytes;

  Unsubscribing(Packet.Unsubscribe packet) {
    packetId = packet.packetId();
    filters = packet.filters().size();
    ended = new BitSet(filters);
    bytes = filters / 4;
  }

  /** Estimated heap that it takes until it is answered. */
  int bytes() {
    return bytes;
  }

  /** A topic filter had a subscription. */
  void ended(int index, String filter) {
    ended.set(index);
    bytes += Subscribing.bytesOf(filter);
  }

  /** A topic filter is not valid. Answers the explanation if it is the first one, else null. */
  @Nullable String invalid(int index) {
    invalid.set(index);
    if (explanation != null) return null;
    explanation = "topic filter " + (index + 1) + ": is not valid";
    return explanation;
  }

  Packet.Unsuback answer() {
    return new Packet.Unsuback(packetId, IntStream.range(0, filters).mapToObj(this::reason).toList(), explanation, List.of());
  }

  private ReasonCode reason(int index) {
    if (invalid.get(index)) return ReasonCode.TOPIC_FILTER_INVALID;
    return ended.get(index) ? ReasonCode.SUCCESS : ReasonCode.NO_SUBSCRIPTION_EXISTED;
  }
}
