package dunlin.inbox.server;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Transfer;
import dunlin.model.Publication;
import dunlin.store.Range;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the messages that a group of one range hands over to another range. */
final class TransferReader {
  /*
   * Owner: any thread asks; the range's readers read.
   * Bounds: those of the range's readers, and of a transfer.
   * Failure: what cannot be read now is answered with null, and read again at a later turn.
   */
  private static final Logger LOG = LoggerFactory.getLogger(TransferReader.class);

  private final Range<?, ?> range;

  TransferReader(Range<?, ?> range) {
    this.range = range;
  }

  /** Passes on the messages of a transfer, or null if that is not possible now. */
  void read(GroupKey group, Transfer transfer, Consumer<@Nullable List<Publication>> then) {
    try {
      range.readers().execute(() -> then.accept(read(group, transfer)));
    } catch (RejectedExecutionException busy) {
      then.accept(null);
    }
  }

  private @Nullable List<Publication> read(GroupKey group, Transfer transfer) {
    try {
      var bodies = new ArrayList<Long>();
      range
          .reader()
          .scan(
              transfer.key(transfer.first()),
              transfer.key(transfer.next()),
              (_, header) -> bodies.add(StoredMessage.read(header).bodyId()));
      if (bodies.size() != transfer.count()) return null; // another step has removed some of them in the meantime
      var messages = new ArrayList<Publication>();
      for (long body : bodies) {
        byte[] message = range.reader().get(SessionKeys.body(group.tenant(), body));
        if (message == null) return null;
        messages.add(StoredMessage.message(message));
      }
      return messages;
    } catch (RuntimeException e) {
      LOG.warn("Messages of a group could not be read, trying again: {}", e.getMessage());
      return null;
    }
  }
}
