package dunlin.load.client;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** Version 1 of the PROXY protocol: one line of text that names both ends. */
final class ProxyHeader {
  private ProxyHeader() {}

  static void write(Channel channel, ByteBuf out) {
    if (!(channel.localAddress() instanceof InetSocketAddress from) || !(channel.remoteAddress() instanceof InetSocketAddress to)) {
      out.writeCharSequence("PROXY UNKNOWN\r\n", StandardCharsets.US_ASCII);
      return;
    }
    String family = from.getAddress() instanceof Inet6Address ? "TCP6" : "TCP4";
    String line =
        "PROXY %s %s %s %d %d\r\n".formatted(family, plain(from), plain(to), from.getPort(), to.getPort());
    out.writeCharSequence(line, StandardCharsets.US_ASCII);
  }

  private static String plain(InetSocketAddress address) {
    String host = address.getAddress().getHostAddress();
    int zone = host.indexOf('%');
    return zone < 0 ? host : host.substring(0, zone);
  }
}
