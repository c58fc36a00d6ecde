package dunlin.broker;

import io.netty.util.collection.LongObjectHashMap;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The connections of one event loop by their numbers, so that other tiers can name them; owned by the loop. */
final class ConnectionTable {
  private final LongObjectHashMap<Connection> byNumber = new LongObjectHashMap<>();
  private long opened;

  /** A number never given out before on this loop; together with the loop's index it is unique in the frontend. */
  long add(Connection connection, int loop, int loopCount) {
    long number = ++opened * loopCount + loop;
    byNumber.put(number, connection);
    return number;
  }

  @Nullable Connection get(long number) {
    return byNumber.get(number);
  }

  void remove(long number) {
    byNumber.remove(number);
  }

  int size() {
    return byNumber.size();
  }

  /** So many that could be sent a DISCONNECT, or all of them. */
  List<Connection> live(int most) {
    List<Connection> live = new ArrayList<>(Math.min(most, size()));
    for (Connection connection : byNumber.values()) {
      if (live.size() == most) break;
      if (connection.live()) live.add(connection);
    }
    return live;
  }

  List<Connection> all() {
    return new ArrayList<>(byNumber.values());
  }
}
