package dunlin.store.ways;

import java.util.concurrent.CompletableFuture;

/** A call for a key, until it is answered. */
final class RoutedCall<L extends RangeLink, T> {
  /** Later calls have larger ones. */
  final long number;

  final byte[] key;
  final RangeRouter.Maker<L, T> maker;
  final CompletableFuture<T> answer = new CompletableFuture<>();

  /** When it has to be given up, if it still waits then. Set when it begins to wait; the router's lock guards it. */
  long untilNanos;

  boolean waited;

  RoutedCall(long number, byte[] key, RangeRouter.Maker<L, T> maker) {
    this.number = number;
    this.key = key;
    this.maker = maker;
  }
}
