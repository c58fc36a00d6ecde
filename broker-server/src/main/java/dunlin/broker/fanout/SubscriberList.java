package dunlin.broker.fanout;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The subscribers of one filter on one event loop, which owns it. Adding and removing take constant time. */
final class SubscriberList {
  private @Nullable Subscriber[] subscribers = new Subscriber[1];
  private int size;

  int size() {
    return size;
  }

  Subscriber get(int index) {
    return Objects.requireNonNull(subscribers[index]);
  }

  /** The client identifiers of all, as of now. */
  String[] clientIds() {
    String[] all = new String[size];
    for (int i = 0; i < size; i++) all[i] = get(i).clientId();
    return all;
  }

  void add(Subscriber subscriber) {
    if (size == subscribers.length) subscribers = Arrays.copyOf(subscribers, size * 2);
    subscriber.place(size);
    subscribers[size++] = subscriber;
  }

  /** Removes a subscriber; the last one moves to its index. */
  void remove(Subscriber subscriber) {
    int hole = subscriber.place();
    assert hole < size && subscribers[hole] == subscriber : "not in this list";
    Subscriber last = get(--size);
    subscribers[hole] = last;
    last.place(hole);
    subscribers[size] = null;
    subscriber.place(-1);
  }
}
