package dunlin.broker.connect;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How large a buffer each read of a loop's connections gets, and when a connection has been read enough for now: large ones for a
 * client that fills them, small ones for one that does not.
 */
final class ReadSizes implements RecvByteBufAllocator.ExtendedHandle {
  /*
   * Owner: the event loop. Netty would make a handle of 150 bytes for each channel, of which nothing but the size must be kept from one
   *   round of reads to the next. So the connection keeps the size, and the rest is here once, for the connection that is being read:
   *   a loop reads one after the other, from reset to readComplete.
   * Bounds: READS_MAX buffers of 512 bytes to 64 KiB in a round, then the next connection has its turn. They are smaller when memory is short.
   */
  private static final int SMALLEST_BITS = 9;
  private static final int FIRST_BITS = 11;
  private static final int LARGEST_BITS = 16;

  /** A filled buffer is followed by one 16 times as large: what sends a lot is known at once. */
  private static final int STEP_UP_BITS = 4;

  /** Set when the last round would have done with less. */
  private static final int READ_LITTLE = 0x40;

  /** What a connection begins with. */
  static final byte FIRST = FIRST_BITS;

  private static final int READS_MAX = 16;

  private final UncheckedBooleanSupplier filled = () -> attemptedBytesRead() == lastBytesRead();
  private @Nullable Reader reader;
  private @Nullable ChannelConfig config;
  private int reads;
  private int totalBytes;
  private int attempted;
  private int last;

  /** What is read from. It stands in its channel's configuration, where Netty looks for a maker of handles. */
  interface Reader extends RecvByteBufAllocator {
    /** The handle of its loop. */
    ReadSizes readSizes();

    /** What {@link #readSize(byte)} was told, at first {@link ReadSizes#FIRST}. */
    byte readSize();

    void readSize(byte size);

    /** Bytes that should be read at once at most, by what memory there is. */
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
    if (bytes == attempted) adapt(bytes); // so that what comes behind it in the same round finds more room
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

  /** More room after a buffer was filled; less, but still twice of what was needed, after two rounds that needed little. */
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
