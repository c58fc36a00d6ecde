package dunlin.load.client;

/** Learns that a client has been answered, one way or the other. Called on the client's event loop. */
interface Settled {
  void settled();
}
