package dunlin.broker.session;

import dunlin.broker.fanout.FilterHandle;
import dunlin.model.Publication;
import dunlin.model.QoS;
import org.jspecify.annotations.Nullable;

/** A QoS 1 or 2 message to one client, waiting or in flight; owned by the session's event loop. */
final class Outgoing {
  final Publication message;
  final QoS qos;
  final boolean retain;
  final int[] identifiers;

  /** The group that it came through, so that another member can get it if this one leaves; else null. */
  final @Nullable FilterHandle group;

  /** Its sequence in the session, which determines its packet identifier; 0 until it has one. */
  long sequence;

  boolean duplicate;

  /** Whether it is counted in the loop's memory. */
  boolean held;

  /** The count of sessions of the loop that hold the message; null while there is only this one. */
  MessageMemory.@Nullable Holders holders;

  /** Whether PUBREC was received and is being recorded. */
  boolean recording;

  /** Whether PUBREC was received: then only PUBREL may be sent [MQTT-4.3.3-6]. */
  boolean released;

  /** Whether access rules ended its exchange before the client got it. */
  boolean withheld;

  /** Kept here so that an acknowledgement does not access the message itself. */
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
