package dunlin.broker.session;

import dunlin.broker.codec.Limit;
import dunlin.broker.codec.Packet;
import dunlin.broker.loop.Loop;
import dunlin.model.ReasonCode;
import io.netty.channel.ChannelHandlerContext;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** The session's view of its client's network connection. */
public interface ClientConnection extends Loop.Written {
  /*
   * Owner: the connection's event loop.
   * There should be only one implementation, because these methods are called for each packet.
   */
  /** The number by which other tiers identify it. */
  long number();

  Loop loop();

  /** The client's address, also behind a proxy that transmits it; null for a Unix domain socket. */
  @Nullable SocketAddress address();

  /** The writer of packets to the client. */
  RoundWriter writer();

  // ------------------------------------------------------------------------------------------------------------------
  // output

  ChannelHandlerContext context();

  /** Counts memory that is taken to write into. */
  void takesMemory(int bytes);

  /** Whether the socket accepts more bytes within its memory bound. */
  boolean writable();

  /** Whether its tenant may be sent more now. */
  boolean maySend();

  /**
   * Whether the socket accepts this many more bytes and the node has the memory. If memory is missing, the session is
   * notified when there is some again.
   */
  boolean writable(int bytes);

  /**
   * The same for QoS 0, which is dropped rather than kept waiting: if memory is missing, the sockets are flushed first.
   */
  boolean takesQoS0(int bytes);

  /** Notes that a PUBLISH of this many bytes was written. */
  void published(int bytes);

  /** Which topic filters its client may subscribe to. */
  SubscribeRules subscribeRules();

  /** Number of bytes that wait for the socket. */
  long waitingBytes();

  /**
   * Handles an answer that is larger than the client accepts: the client gets a short answer that says so, if there is
   * one.
   */
  void tooLarge(Packet answer);

  // -------------------------------------------------------------------------------------------------------------------
  // input

  void hold(Hold reason);

  /** Stops reading until the lane has credit again. */
  void holdForCredit();

  void resume(Hold reason);

  // ---------------------------------------------------------------------------------------------------------------------
  // end

  /** Counts and logs a violation that does not end the connection: the packet is answered with an error. */
  void note(ReasonCode reason, @Nullable Limit limit, String explanation);

  /**
   * Closes the connection, because the client violated the protocol or exceeded a limit with a packet that has no other
   * answer.
   */
  void violated(ReasonCode reason, @Nullable Limit limit, String explanation);

  /** Closes the connection on an error, which an MQTT 5 client gets in a DISCONNECT [MQTT-4.13.1-1]. */
  void fail(ReasonCode reason, @Nullable String explanation);

  /** Closes the connection, because the session tier treats it as lost: its client goes on over another one. */
  void sessionTierLost();

  /**
   * Closes the connection soon, because another one has its session. What its client has sent by now is processed first: a DISCONNECT among it discards the
   * will.
   */
  void takenOver();

  /**
   * Closes the connection, because a store failed to process the client's packet. If the session was taken over, the
   * new owner's side closes this connection.
   */
  void storeFailed(String what, @Nullable Throwable failure);
}
