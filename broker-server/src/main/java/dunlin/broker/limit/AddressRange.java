package dunlin.broker.limit;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of a network such as {@code 10.0.0.0/8}, or one address. Only literal addresses are allowed: no name is
 * resolved.
 */
public record AddressRange(byte[] address, int bits) {

  /** Parses a text; empty if it is neither an address nor a network. */
  public static Optional<AddressRange> parse(String text) {
    int slash = text.indexOf('/');
    byte @Nullable [] address = NetUtil.createByteArrayFromIpAddressString(slash < 0 ? text : text.substring(0, slash));
    if (address == null) return Optional.empty();
    int bits = 8 * address.length;
    if (slash >= 0) {
      String length = text.substring(slash + 1);
      if (!length.matches("[0-9]{1,3}") || Integer.parseInt(length) > bits) return Optional.empty();
      bits = Integer.parseInt(length);
    }
    return Optional.of(new AddressRange(address, bits));
  }

  public boolean contains(InetAddress candidate) {
    byte[] other = candidate.getAddress();
    if (other.length != address.length) return false;
    int whole = bits / 8;
    for (int i = 0; i < whole; i++) {
      if (other[i] != address[i]) return false;
    }
    int rest = bits % 8;
    return rest == 0 || ((other[whole] ^ address[whole]) & 0xFF) >>> (8 - rest) == 0;
  }
}
