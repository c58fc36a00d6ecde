package dunlin.broker.connect;

import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.Limit;
import dunlin.broker.codec.MalformedPacketException;
import dunlin.broker.codec.PacketDecoder;
import dunlin.broker.loop.LaneWindow;
import dunlin.broker.loop.Turns;
import dunlin.broker.session.Hold;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a connection has read and not processed, and whether it is read from: passes packets on when nothing holds it back. */
final class Input implements ReadSizes.Reader, LaneWindow.Held, Turns.Waiter {
  /*
   * Owner: the channel's event loop.
   * Bounds: held has at most one incomplete packet plus one read; while the connection is held back, HEARD_MAX and one
   * read more.
   * Failure: bytes that are no packet, and a packet that cannot be handled, end the connection; its bytes are discarded.
   */
  private static final int REST_MIN = 256;
  private static final int HEARD_MAX = 64 * 1_024;

  /** After each so many packets of one read the clock is looked at; a power of two. */
  private static final int PACKETS_TIMED = 8;

  private final Connection connection;
  private final PacketDecoder decoder;

  private @Nullable ByteBuf held;
  private byte readSize = ReadSizes.FIRST;
  private int holds;
  private boolean decoding;

  /** Whether the client has closed its side. */
  private boolean ended;

  /** Whether one read was requested while the connection is held back, to find out whether the client is alive. */
  private boolean listening;

  /** The bytes of this connection that are counted in {@link InputMemory}. */
  private int counted;

  Input(Connection connection, PacketDecoder decoder) {
    this.connection = connection;
    this.decoder = decoder;
  }

  /** The limits on the client's packets. */
  DecoderLimits limits() {
    return decoder.limits();
  }

  /** Replaces the limits, before CONNACK. */
  void limits(DecoderLimits narrower) {
    decoder.limits(narrower);
  }

  /** Whether only packets are accepted that authenticate a client. */
  void onlyAuthentication(boolean only) {
    decoder.onlyAuthentication(only);
  }

  // ----------------------------------------------------------------------------------------------------------- decoding

  /** Takes bytes from the socket; they belong to this. */
  void read(ByteBuf in) {
    listening = false;
    if (held == null) {
      held = in;
    } else {
      held.writeBytes(in);
      in.release();
    }
    decode();
  }

  /** Decodes the held bytes, as far as they are complete and nothing holds the connection back. */
  private void decode() {
    if (decoding) return;
    decoding = true;
    boolean decoded = false;
    connection.loop().readClock();
    Turns.Turn turn = connection.turn();
    Turns.Turn shared = turn != null && turn.isShared() ? turn : null;
    long began = shared == null ? 0 : System.nanoTime();
    int packets = 0;
    if (shared != null && shared.isOver(0)) holdForTurn(shared);
    try {
      connection.mustBeLeased();
      while (held != null && !heldUp() && !connection.isEnding()) {
        var session = connection.session();
        if (session != null && held.isReadable()) {
          int type = held.getUnsignedByte(held.readerIndex()) >> 4;
          if (session.mustWait(type)) {
            hold(Hold.ORDER);
            break;
          }
          if (type == PacketDecoder.PUBLISH && connection.loop().window().exhausted()) {
            holdForCredit();
            break;
          }
        }
        if (!decoder.decode(held, connection)) break;
        decoded = true;
        if (turn != null && ++packets % PACKETS_TIMED == 0) {
          if (packets == PACKETS_TIMED && shared == null) began = System.nanoTime();
          else if (turn.isOver(System.nanoTime() - began)) holdForTurn(turn);
        }
        if (connection.answersPileUp()) hold(Hold.SOCKET);
      }
    } catch (MalformedPacketException e) {
      connection.malformed(e);
    } catch (RuntimeException | AssertionError e) {
      connection.loop().meters().unexpected("a packet could not be handled", e);
      connection.fail(ReasonCode.UNSPECIFIED_ERROR, "internal error");
    } finally {
      decoding = false;
      if (shared != null) shared.use(System.nanoTime() - began);
      keepRest();
      settle(decoded);
    }
  }

  /** Whether packets must not be processed now. */
  private boolean heldUp() {
    return (holds & ~Hold.MEMORY.bit()) != 0;
  }

  /**
   * Copies the beginning of a packet into a buffer of its own, so that a few bytes do not keep a whole read buffer.
   */
  private void keepRest() {
    ByteBuf rest = held;
    if (rest == null) return;
    if (!rest.isReadable() || connection.isEnding()) {
      rest.release();
      held = null;
    } else if (rest.readerIndex() > 0 || !rest.isWritable()) {
      held = connection.context().alloc().buffer(Math.max(rest.readableBytes() * 2, REST_MIN)).writeBytes(rest);
      rest.release();
    }
  }

  /** The client has closed its side. The connection ends as soon as its previous packets are processed. */
  void end() {
    ended = true;
    if (held == null || !heldUp()) connection.close();
  }

  /** Discards the held bytes, because they will not be processed. */
  void drop() {
    if ((holds & Hold.CREDIT.bit()) != 0) connection.loop().window().forget(this);
    if (decoding) return; // the bytes are discarded when decoding ends
    if (held != null) held.release();
    held = null;
    settle(false);
  }

  // ------------------------------------------------------------------------------------------------ reading stops and
  // resumes

  void hold(Hold reason) {
    if (holds == 0 && !connection.isClosed()) setAutoRead(false);
    holds |= reason.bit();
  }

  void holdForCredit() {
    if ((holds & Hold.CREDIT.bit()) != 0) return;
    hold(Hold.CREDIT);
    connection.loop().window().hold(this);
  }

  private void holdForTurn(Turns.Turn turn) {
    if ((holds & Hold.TURN.bit()) != 0) return;
    hold(Hold.TURN);
    turn.await(this);
  }

  @Override
  public void goOnWithTurn() {
    resume(Hold.TURN);
  }

  @Override
  public void creditAgain() {
    resume(Hold.CREDIT);
  }

  void resume(Hold reason) {
    if ((holds & reason.bit()) == 0) return;
    holds &= ~reason.bit();
    if (heldUp() || connection.isClosed()) return;
    if (holds == 0) {
      listening = false;
      if (connection.live()) connection.home().keepAlive().heard(connection);
    }
    if (held == null || decoding) {
      if (holds == 0) setAutoRead(true);
    } else {
      // Not called directly from the code that returned the credit: a long chain of resumed connections would nest.
      connection.loop().executor().execute(this::goOn);
    }
  }

  private void goOn() {
    decode();
    if (ended && !heldUp()) connection.close();
    if (holds == 0 && !connection.isClosed()) setAutoRead(true);
  }

  /** Why the connection is not read from; empty when it is. */
  List<Hold> holds() {
    return holds == 0 ? List.of() : Arrays.stream(Hold.values()).filter(each -> (holds & each.bit()) != 0).toList();
  }

  private void setAutoRead(boolean reads) {
    connection.context().channel().config().setAutoRead(reads);
  }

  /** Whether nothing was heard because the connection is held back, and no read was requested to find out. */
  boolean mustListen() {
    return holds != 0 && !listening;
  }

  /**
   * Requests one read although the connection is held back: the PINGREQ of a client that is alive is in the socket.
   */
  void listen() {
    if (held != null && held.readableBytes() >= HEARD_MAX) return;
    listening = true;
    connection.context().read();
  }

  // ------------------------------------------------------------------------------------------------------------- memory

  private void settle(boolean decoded) {
    connection.home().inputMemory().settle(this, connection.open(), held == null ? 0 : held.capacity(), decoded);
  }

  int counted() {
    return counted;
  }

  void counted(int bytes) {
    counted = bytes;
  }

  /** Whether the client can send the rest of an incomplete packet, or could if there were memory. */
  boolean isUnfinished() {
    return !heldUp();
  }

  /** Ends the connection, because the bytes of its incomplete packet cannot be held any longer. */
  void noMemory(Limit limit) {
    connection.noMemoryForInput(limit, counted);
    drop();
  }

  @Override
  public ReadSizes readSizes() {
    return connection.home().readSizes();
  }

  @Override
  public byte readSize() {
    return readSize;
  }

  @Override
  public void readSize(byte size) {
    readSize = size;
  }

  @Override
  public int readMax() {
    return connection.home().inputMemory().readMax(connection.open());
  }
}
