package dunlin.retain.remote;

import java.util.concurrent.CompletableFuture;

/** A call for a key, until it is answered. */
final class RoutedCall<T> {
  /** Makes the call. */
  @FunctionalInterface
  interface Maker<T> {
    CompletableFuture<T> make(RemoteRetain calls, long epoch);
  }

  /** Later calls have larger ones. */
  final long number;

  final byte[] key;
  final Maker<T> maker;
  final CompletableFuture<T> answer = new CompletableFuture<>();

  /** When it has to be given up, if it still waits then. Set when it begins to wait; the router's lock guards it. */
  long untilNanos;

  boolean waited;

  RoutedCall(long number, byte[] key, Maker<T> maker) {
    this.number = number;
    this.key = key;
    this.maker = maker;
  }
}
