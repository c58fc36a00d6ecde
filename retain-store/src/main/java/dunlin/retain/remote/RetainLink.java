package dunlin.retain.remote;

import dunlin.store.ways.RangeLink;
import java.util.concurrent.CompletableFuture;

/** The link to the leader of a range of retained messages, and the line of the range's pages. */
record RetainLink(RemoteRetain calls, PageRoom.Line pages) implements RangeLink {
  @Override
  public CompletableFuture<Void> begin() {
    return calls.begin();
  }

  @Override
  public boolean isReached() {
    return calls.isReached();
  }

  @Override
  public void close() {
    calls.close();
  }
}
