package dunlin.admin.events;

import java.time.Duration;
import java.util.List;

/** What a stream of events sends. One thread calls it. */
public interface EventSource extends AutoCloseable {
  /** Time between two looks. */
  Duration pause();

  /** The events since the last look, in their order; maybe none. */
  List<? extends Record> look();

  /** Whether nothing more will come, so that the stream ends; asked after each look. */
  default boolean ended() {
    return false;
  }

  @Override
  void close();
}
