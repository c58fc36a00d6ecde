package dunlin.broker.connect;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the buffer size of each read of a loop's connections, and how often a connection is read from in one round:
 * large buffers for a client that fills them, small ones for others.
 */
final class ReadSizes implements RecvByteBufAllocator.ExtendedHandle {
  /*
   * Owner: the event loop. Netty would create a handle of 150 bytes for each channel, of which only the size must be
   * kept between rounds of reads. So the connection keeps the size, and this object has the rest, for the connection
   * that is being read: a loop reads its connections one after the other, from reset to readComplete.
   * Bounds: READS_MAX buffers of 512 bytes to 64 KiB in a round, then it is the next connection's turn. The buffers are
   * smaller when memory is short.
   */
  private static final int SMALLEST_BITS = 9;
  private static final int FIRST_BITS = 11;
  private static final int LARGEST_BITS = 16;

  /** A filled buffer is followed by one 16 times as large, so that a client that sends much soon has large ones. */
  private static final int STEP_UP_BITS = 4;

  /** Set if a smaller buffer would have been enough in the last round. */
  private static final int READ_LITTLE = 0x40;

  /** The initial size of a connection. */
  static final byte FIRST = FIRST_BITS;

  private static final int READS_MAX = 16;

  private final UncheckedBooleanSupplier filled = () -> attemptedBytesRead() == lastBytesRead();
  private @Nullable Reader reader;
  private @Nullable ChannelConfig config;
  private int reads;
  private int totalBytes;
  private int attempted;
  private int last;

  /**
   * A connection that is read from. It is in its channel's configuration, where Netty looks for an allocator of
   * handles.
   */
  interface Reader extends RecvByteBufAllocator {
    /** The handle of its loop. */
    ReadSizes readSizes();

    /** The last value of {@link #readSize(byte)}, at first {@link ReadSizes#FIRST}. */
    byte readSize();

    void readSize(byte size);

    /** The maximum number of bytes in one read, depending on the available memory. */
    default int readMax() {
      return Integer.MAX_VALUE;
    }

    @Override
    default RecvByteBufAllocator.ExtendedHandle newHandle() {
      return readSizes();
    }
  }

  @Override
  public void reset(ChannelConfig next) {
    Reader begun = next.getRecvByteBufAllocator();
    reader = begun;
    config = next;
    reads = 0;
    totalBytes = 0;
  }

  @Override
  public ByteBuf allocate(ByteBufAllocator buffers) {
    return buffers.ioBuffer(guess());
  }

  @Override
  public int guess() {
    return reader == null ? 1 << FIRST_BITS : Math.min(1 << bits(reader.readSize()), reader.readMax());
  }

  private static int bits(byte size) {
    return size & ~READ_LITTLE;
  }

  @Override
  public void attemptedBytesRead(int bytes) {
    attempted = bytes;
  }

  @Override
  public int attemptedBytesRead() {
    return attempted;
  }

  @Override
  public void lastBytesRead(int bytes) {
    last = bytes;
    if (bytes <= 0) return;
    totalBytes += bytes;
    if (bytes == attempted) adapt(bytes); // so that the next read of the same round has a larger buffer
  }

  @Override
  public int lastBytesRead() {
    return last;
  }

  @Override
  public void incMessagesRead(int count) {
    reads += count;
  }

  @Override
  public boolean continueReading() {
    return continueReading(filled);
  }

  @Override
  public boolean continueReading(UncheckedBooleanSupplier maybeMore) {
    return config != null && config.isAutoRead() && totalBytes > 0 && reads < READS_MAX && maybeMore.get();
  }

  @Override
  public void readComplete() {
    adapt(totalBytes);
    reader = null;
    config = null;
  }

  /**
   * Increases the size after a buffer was filled; reduces it, to at least twice what was needed, after two rounds that
   * needed little.
   */
  private void adapt(int bytes) {
    if (reader == null) return;
    byte size = reader.readSize();
    int bits = bits(size);
    if (bytes >= 1 << bits) {
      reader.readSize((byte) Math.min(LARGEST_BITS, bits + STEP_UP_BITS));
    } else if (bytes <= 1 << (bits - 2)) {
      boolean again = (size & READ_LITTLE) != 0;
      reader.readSize((byte) (again ? Math.max(SMALLEST_BITS, bits - 1) : bits | READ_LITTLE));
    }
  }
}
