package dunlin.load.client;

/** Decides when streams send. */
interface Flow extends Task {
  /** Sends the due messages of a stream as far as possible. Called whenever more may be due or possible. */
  void pump(Stream stream);
}
