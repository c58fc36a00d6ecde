package dunlin.broker.session;

import dunlin.broker.fanout.FilterHandle;
import dunlin.model.Publication;
import dunlin.model.QoS;
import org.jspecify.annotations.Nullable;

/** A message of QoS 1 or 2 to one client, waiting or in flight; owned by the session's event loop. */
final class Outgoing {
  final Publication message;
  final QoS qos;
  final boolean retain;
  final int[] identifiers;

  /** The group that it was picked from, so that another member can have it when this one leaves; else null. */
  final @Nullable FilterHandle group;

  /** Its place in the session's order, from which its packet identifier follows; 0 until it has one. */
  long sequence;

  boolean duplicate;

  /** Counts in the loop's memory. */
  boolean held;

  /** The other sessions of the loop that hold the message, too; null while there are none. */
  MessageMemory.@Nullable Holders holders;

  /** PUBREC has come: only PUBREL may be sent any more [MQTT-4.3.3-6]. */
  boolean released;

  /** Kept here, since nothing else of a message that was sent is looked at when it is acknowledged. */
  private final int size;

  Outgoing(Publication message, QoS qos, boolean retain, int[] identifiers, @Nullable FilterHandle group) {
    this.message = message;
    this.qos = qos;
    this.retain = retain;
    this.identifiers = identifiers;
    this.group = group;
    this.size = message.body().length;
  }

  int size() {
    return size;
  }
}
