package dunlin.transport.call;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Calls that are not answered, within their bounds. */
final class CallLoad {
  private final CallBounds bounds;
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  CallLoad(CallBounds bounds) {
    this.bounds = bounds;
  }

  /** Counts one call more, if there is room for it. Any thread. */
  boolean take(int size) {
    int more = calls.incrementAndGet();
    long moreBytes = bytes.addAndGet(size);
    if (more <= bounds.callsMax() && moreBytes <= bounds.bytesMax()) return true;
    give(size);
    return false;
  }

  /** A call has its answer. Any thread. */
  void give(int size) {
    calls.decrementAndGet();
    bytes.addAndGet(-size);
  }

  int calls() {
    return calls.get();
  }

  long bytes() {
    return bytes.get();
  }

  @Override
  public String toString() {
    return calls + " calls with " + bytes + " bytes";
  }
}
