package dunlin.broker.codec;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Collects MQTT's data types in a growing array, because lengths are written in front of the data; MQTT 5, section 1.5.
 */
final class PacketWriter {
  static final int VARINT_MAX = 268_435_455;

  private byte[] bytes = new byte[64];
  private int length;

  int length() {
    return length;
  }

  void writeTo(ByteBuf out) {
    out.writeBytes(bytes, 0, length);
  }

  PacketWriter writeByte(int value) {
    ensure(1);
    bytes[length++] = (byte) value;
    return this;
  }

  PacketWriter writeShort(int value) {
    if (value < 0 || value > 0xFFFF) throw new IllegalArgumentException("not a two byte integer: " + value);
    return writeByte(value >> 8).writeByte(value);
  }

  PacketWriter writeInt(long value) {
    if (value < 0 || value > 0xFFFF_FFFFL) throw new IllegalArgumentException("not a four byte integer: " + value);
    return writeShort((int) (value >> 16)).writeShort((int) value & 0xFFFF);
  }

  PacketWriter writeVarint(int value) {
    for (int rest = value; ; rest >>>= 7) {
      if (rest < 0x80) return writeByte(rest);
      writeByte((rest & 0x7F) | 0x80);
    }
  }

  PacketWriter writeText(String text) {
    return writeBinary(text.getBytes(StandardCharsets.UTF_8));
  }

  PacketWriter writeBinary(byte[] data) {
    return writeShort(data.length).writeRaw(data, data.length);
  }

  /** Appends the length of another writer's content, and then the content. */
  PacketWriter writeWithLength(PacketWriter other) {
    return writeVarint(other.length).writeRaw(other.bytes, other.length);
  }

  PacketWriter writeRaw(byte[] data, int count) {
    ensure(count);
    System.arraycopy(data, 0, bytes, length, count);
    length += count;
    return this;
  }

  PacketWriter byteProperty(int id, int value) {
    return writeByte(id).writeByte(value);
  }

  PacketWriter shortProperty(int id, int value) {
    return writeByte(id).writeShort(value);
  }

  PacketWriter intProperty(int id, long value) {
    return writeByte(id).writeInt(value);
  }

  PacketWriter textProperty(int id, @Nullable String value) {
    return value == null ? this : writeByte(id).writeText(value);
  }

  PacketWriter binaryProperty(int id, byte @Nullable [] value) {
    return value == null ? this : writeByte(id).writeBinary(value);
  }

  PacketWriter userProperties(List<UserProperty> properties) {
    for (UserProperty property : properties) {
      writeByte(PropertyId.USER_PROPERTY).writeText(property.name()).writeText(property.value());
    }
    return this;
  }

  private void ensure(int more) {
    int required = Math.addExact(length, more);
    if (required > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(required, 2 * bytes.length));
  }

  /** The number of bytes of a variable byte integer. */
  static int varintLength(int value) {
    return value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : 4;
  }
}
