package dunlin.load.client;

/** Decides when streams send. */
interface Flow extends Task {
  /** Sends what is due of one stream, as far as it can be sent. Called when that may have changed. */
  void pump(Stream stream);
}
