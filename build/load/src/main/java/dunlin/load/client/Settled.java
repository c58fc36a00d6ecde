package dunlin.load.client;

/** Is notified when the broker has answered a client, with success or not. Called on the client's event loop. */
interface Settled {
  void settled();
}
