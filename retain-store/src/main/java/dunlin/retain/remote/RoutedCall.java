package dunlin.retain.remote;

import java.util.concurrent.CompletableFuture;

/** A call for a key, until it is answered. */
final class RoutedCall<T> {
  /** Makes the call. */
  @FunctionalInterface
  interface Maker<T> {
    CompletableFuture<T> make(RemoteRetain link, long epoch);
  }

  /** Later calls have larger ones. */
  final long number;

  final byte[] key;
  final Maker<T> maker;
  final CompletableFuture<T> answer = new CompletableFuture<>();

  /** When it has to be given up; set while it waits. */
  long untilNanos;

  RoutedCall(long number, byte[] key, Maker<T> maker) {
    this.number = number;
    this.key = key;
    this.maker = maker;
  }
}
