package dunlin.broker.session;

import dunlin.broker.codec.Limit;
import dunlin.broker.codec.Packet;
import dunlin.broker.loop.Loop;
import dunlin.model.ReasonCode;
import io.netty.channel.ChannelHandlerContext;
import org.jspecify.annotations.Nullable;

/** The network connection of a live session's client, as far as the session needs it. */
public interface ClientConnection extends Loop.Written {
  /*
   * Owner: the connection's event loop.
   * There is one implementation, and should be: these calls are made for each packet.
   */
  /** By which other tiers name it. */
  long number();

  Loop loop();

  /** What writes packets to the client. */
  RoundWriter writer();

  // ---------------------------------------------------------------------------------------------------------- what is written

  ChannelHandlerContext context();

  /** Memory is taken to write into. */
  void takesMemory(int bytes);

  /** Whether the socket takes more without holding memory beyond its bound. */
  boolean writable();

  /** Whether it takes so many bytes more, and the node has the memory; if not for that, the session is told when there is some again. */
  boolean writable(int bytes);

  /** The same for what will not wait: sockets that take something are given it first. */
  boolean takesQoS0(int bytes);

  /** Bytes that wait for the socket. */
  long waitingBytes();

  /** An answer is larger than the client accepts. It gets a short one that says so, where there is one. */
  void tooLarge(Packet answer);

  // --------------------------------------------------------------------------------------------------------------- what is read

  void hold(Hold reason);

  /** Is not read from until its lane has credit again. */
  void holdForCredit();

  void resume(Hold reason);

  // ------------------------------------------------------------------------------------------------------------------ how it ends

  /** Counts and tells a violation that does not end the connection: its packet is answered with an error. */
  void note(ReasonCode reason, @Nullable Limit limit, String explanation);

  /** The client broke the protocol or passed a limit, in a packet that only the connection's end can answer. */
  void violated(ReasonCode reason, @Nullable Limit limit, String explanation);

  /** Closes for an error, which a client of MQTT 5 gets in a DISCONNECT [MQTT-4.13.1-1]. */
  void fail(ReasonCode reason, @Nullable String explanation);

  /** A store did not do what this client's packet asked for. A session that was taken over is closed by its new owner's side. */
  void storeFailed(String what, @Nullable Throwable failure);
}
