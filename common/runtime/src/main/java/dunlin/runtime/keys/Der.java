package dunlin.runtime.keys;

import java.io.ByteArrayOutputStream;

/** As much of DER (X.690) as it takes to write small values, and to find one in what the JDK has encoded. Not for what others send. */
public final class Der {
  public static final int INTEGER = 0x02;
  public static final int OCTET_STRING = 0x04;
  public static final int SEQUENCE = 0x30;

  /** The most bytes that a value may have. */
  static final int LENGTH_MAX = 0xFFFF;

  private Der() {}

  /** Where the content of the value at an index begins. */
  public static int content(byte[] der, int index) {
    int first = der[index + 1] & 0xFF;
    return index + 2 + (first < 0x80 ? 0 : first & 0x7F);
  }

  /** Where the value at an index ends. */
  public static int end(byte[] der, int index) {
    int begin = content(der, index);
    if (begin == index + 2) return begin + der[index + 1];
    int length = 0;
    for (int i = index + 2; i < begin; i++) length = length << 8 | (der[i] & 0xFF);
    return begin + length;
  }

  /** A value with its tag and length. */
  public static byte[] tagged(int tag, byte[]... content) {
    int n = 0;
    for (byte[] part : content) n += part.length;
    var out = new ByteArrayOutputStream();
    out.write(tag);
    // DER requires the shortest form.
    if (n < 0x80) out.write(n);
    else if (n < 0x100) out.writeBytes(new byte[] {(byte) 0x81, (byte) n});
    else if (n <= LENGTH_MAX) out.writeBytes(new byte[] {(byte) 0x82, (byte) (n >> 8), (byte) n});
    else throw new IllegalArgumentException("a value of " + n + " bytes");
    for (byte[] part : content) out.writeBytes(part);
    return out.toByteArray();
  }
}
