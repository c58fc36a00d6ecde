package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReadSizesTest {
  private final ReadSizes sizes = new ReadSizes();
  private final List<Source> sources = new ArrayList<>();

  /** A socket with a number of bytes to read, which is read in the way of Netty. */
  private final class Source implements ReadSizes.Reader {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private byte size = ReadSizes.FIRST;

    Source() {
      channel.config().setRecvByteBufAllocator(this);
      sources.add(this);
    }

    @Override
    public ReadSizes readSizes() {
      return sizes;
    }

    @Override
    public byte readSize() {
      return size;
    }

    @Override
    public void readSize(byte told) {
      size = told;
    }

    /** One round of reads; answers the sizes of the buffers. */
    List<Integer> round(int bytes) {
      List<Integer> buffers = new ArrayList<>();
      int left = bytes;
      var handle = newHandle();
      handle.reset(channel.config());
      do {
        ByteBuf buffer = handle.allocate(channel.alloc());
        handle.attemptedBytesRead(buffer.writableBytes());
        int read = Math.min(left, buffer.writableBytes());
        buffers.add(buffer.writableBytes());
        buffer.release();
        left -= read;
        handle.lastBytesRead(read == 0 ? -1 : read);
        if (read == 0) break;
        handle.incMessagesRead(1);
      } while (handle.continueReading());
      handle.readComplete();
      return buffers;
    }
  }

  @AfterEach
  void close() {
    sources.forEach(source -> source.channel.finishAndReleaseAll());
  }

  @Test
  void aConnectionThatFillsItsBufferGetsALargerOneInTheSameRound() {
    Source source = new Source();

    assertThat(source.round(20_000)).containsExactly(2_048, 32_768);
    assertThat(source.round(40_000)).containsExactly(32_768, 65_536);
    assertThat(source.round(100)).containsExactly(65_536);
  }

  @Test
  void roundsThatNeedLittleMakeTheBufferSmallerStepByStep() {
    Source source = new Source();

    List<Integer> buffers = new ArrayList<>();
    for (int i = 0; i < 8; i++) buffers.addAll(source.round(100));

    assertThat(buffers).containsExactly(2_048, 2_048, 1_024, 1_024, 512, 512, 512, 512);
  }

  @Test
  void aBufferThatIsMoreThanAQuarterFullKeepsItsSize() {
    Source source = new Source();

    for (int i = 0; i < 100; i++) assertThat(source.round(600)).containsExactly(2_048);
  }

  @Test
  void oneConnectionDoesNotChangeTheSizeOfAnother() {
    Source large = new Source();
    Source small = new Source();

    for (int i = 0; i < 20; i++) {
      large.round(60_000);
      small.round(100);
    }

    assertThat(large.round(60_000)).containsExactly(65_536);
    assertThat(small.round(100)).containsExactly(512);
  }

  @Test
  void aRoundEndsAfterSixteenReadsHoweverMuchIsLeft() {
    assertThat(new Source().round(Integer.MAX_VALUE)).hasSize(16);
  }

  @Test
  void aRoundEndsWhenReadingStops() {
    Source source = new Source();
    source.channel.config().setAutoRead(false);

    assertThat(source.round(100_000)).hasSize(1);
  }

  @Test
  void aConnectionThatIsClosedByItsPeerIsReadOnce() {
    Source source = new Source();

    assertThat(source.round(0)).containsExactly(2_048);
    assertThat(source.round(3_000)).containsExactly(2_048, 32_768);
  }
}
