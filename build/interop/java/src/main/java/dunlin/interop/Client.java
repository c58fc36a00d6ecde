package dunlin.interop;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One connection through somebody's client; each method throws where the broker does not do what it should. */
abstract class Client {
  static final long SECONDS_MAX = 10;

  private final Relay relay;
  private final BlockingQueue<Message> arrived = new LinkedBlockingQueue<>();

  Client(Relay relay) {
    this.relay = relay;
  }

  /**
   * How to connect.
   *
   * @param durable whether the session outlives the connection, and is resumed
   * @param willTopic empty for no will
   */
  record Options(String clientId, boolean durable, String willTopic) {}

  abstract boolean sessionPresent();

  /** Topic aliases that the broker takes; 0 with MQTT 3. */
  abstract int topicAliasMaximum();

  /**
   * Subscribes, and checks what is granted.
   *
   * @param identifier 0 for none
   */
  abstract void subscribe(String filter, int qos, int identifier) throws Exception;

  /** Returns when the exchange has ended. */
  abstract void publish(Message message) throws Exception;

  abstract void disconnect() throws Exception;

  /** Whether the client takes topics with characters beyond U+FFFF. */
  boolean takesAllCharacters() {
    return true;
  }

  void arrived(Message message) {
    arrived.add(message);
  }

  Message next() throws Exception {
    Message message = arrived.poll(SECONDS_MAX, TimeUnit.SECONDS);
    if (message == null) throw new TimeoutException("a message did not come");
    return message;
  }

  void subscribe(String filter, int qos) throws Exception {
    subscribe(filter, qos, 0);
  }

  /** Disconnects, and waits until the broker has seen it and has closed: the client's own call returns before that. */
  void end() throws Exception {
    disconnect();
    relay.awaitEnd(Duration.ofSeconds(SECONDS_MAX));
    relay.close();
  }

  /** Ends the connection without DISCONNECT. */
  void lose() {
    relay.close();
  }
}
