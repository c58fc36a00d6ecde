package dunlin.transport.lane;

/**
 * What has become of the messages of a hop between processes: {@code received = delivered + returned + dropped + inFlight} when none is on its way.
 *
 * @param delivered answered by the other side
 * @param returned with QoS 1 and 2: their sender has got an error, and may send them again
 * @param dropped with QoS 0: not brought to the other side
 * @param inFlight not answered yet
 */
public record LinkAccount(long received, long delivered, long returned, long dropped, long inFlight) {
  static final LinkAccount NONE = new LinkAccount(0, 0, 0, 0, 0);

  LinkAccount plus(LinkAccount other) {
    return new LinkAccount(
        received + other.received, delivered + other.delivered, returned + other.returned, dropped + other.dropped, inFlight + other.inFlight);
  }

  /** Whether every message is accounted for. */
  public boolean balanced() {
    return received == delivered + returned + dropped + inFlight;
  }
}
