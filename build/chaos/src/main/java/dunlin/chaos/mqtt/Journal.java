package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** The common history of all clients. */
public final class Journal {
  /*
   * Owner: any thread; the lock is its own.
   * Bounds: EVENTS_MAX. Full: the row is broken, since an incomplete history proves nothing.
   */
  private static final int EVENTS_MAX = 4_000_000;

  private static final int EVENTS_BEFORE_THE_END = EVENTS_MAX / 4 * 3;

  private final List<Event> events = new ArrayList<>();
  private final Gaps gaps = new Gaps();
  private long received;

  Gaps gaps() {
    return gaps;
  }

  synchronized void add(Event event) {
    if (events.size() == EVENTS_MAX) throw new IllegalStateException("more than " + EVENTS_MAX + " events");
    events.add(event);
    if (event instanceof Event.Received it && !it.dup()) received++;
  }

  /** Records an event of a broker. */
  public void broker(Event.Deed deed, int node, String note) {
    add(new Event.Broker(System.nanoTime(), deed, node, note));
  }

  /** Records the starts and ends of a broker. */
  MqttBroker.Lives lives(int node) {
    return new MqttBroker.Lives() {
      @Override
      public void launched() {
        broker(Event.Deed.LAUNCHED, node, "");
      }

      @Override
      public void started() {
        broker(Event.Deed.STARTED, node, "");
      }

      @Override
      public void recordsWills(boolean does) {
        broker(does ? Event.Deed.RECORDS_WILLS : Event.Deed.RECORDS_NO_WILLS, node, "");
      }

      @Override
      public void killed() {
        broker(Event.Deed.KILLED, node, "");
      }
    };
  }

  public synchronized int size() {
    return events.size();
  }

  /** Whether a fault may follow: a part is kept for what clients do until the end of the row. */
  public synchronized boolean hasRoom() {
    return events.size() < EVENTS_BEFORE_THE_END;
  }

  /** The number of messages received without DUP. */
  public synchronized long received() {
    return received;
  }

  /** The number of events of a kind, from a position on. */
  public synchronized long count(int from, Predicate<Event> which) {
    return events.subList(from, events.size()).stream().filter(which).count();
  }

  /** The events from a position on. */
  synchronized List<Event> since(int from) {
    return List.copyOf(events.subList(from, events.size()));
  }

  /** All events so far. */
  public synchronized List<Event> events() {
    return List.copyOf(events);
  }
}
