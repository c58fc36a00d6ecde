package dunlin.broker;

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

  /** How it is counted in the loop's memory; null until it is. */
  MessageMemory.@Nullable Body body;

  /** PUBREC has come: only PUBREL may be sent any more [MQTT-4.3.3-6]. */
  boolean released;

  Outgoing(Publication message, QoS qos, boolean retain, int[] identifiers, @Nullable FilterHandle group) {
    this.message = message;
    this.qos = qos;
    this.retain = retain;
    this.identifiers = identifiers;
    this.group = group;
  }

  int size() {
    return message.body().length;
  }
}
