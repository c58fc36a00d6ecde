package dunlin.broker.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;

/** Counts the bytes that a decoder looks at. */
final class CountingBuffer extends UnpooledHeapByteBuf {
  long bytesRead;

  CountingBuffer(byte[] bytes) {
    super(UnpooledByteBufAllocator.DEFAULT, bytes, bytes.length);
  }

  @Override
  public byte getByte(int index) {
    bytesRead++;
    return super.getByte(index);
  }

  @Override
  public short getShort(int index) {
    bytesRead += 2;
    return super.getShort(index);
  }

  @Override
  public int getInt(int index) {
    bytesRead += 4;
    return super.getInt(index);
  }

  @Override
  public long getLong(int index) {
    bytesRead += 8;
    return super.getLong(index);
  }

  @Override
  public ByteBuf getBytes(int index, byte[] target, int targetIndex, int length) {
    bytesRead += length;
    return super.getBytes(index, target, targetIndex, length);
  }
}
