package dunlin.broker.listen;

import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;

/** The I/O mechanism of the event loops. */
public enum IoTransport {
  /** Epoll where it is available, otherwise NIO. */
  AUTO,
  /** Linux's epoll, through a native library; fewer system calls and objects. */
  EPOLL,
  /** The JDK's NIO, available everywhere. */
  NIO;

  /** @throws ListenerException if it is not available on this platform */
  void check() {
    if (this == EPOLL && !Epoll.isAvailable()) {
      throw new ListenerException(
          "dunlin.io.transport: epoll is not available here, use auto", Epoll.unavailabilityCause());
    }
  }

  private boolean epoll() {
    return this != NIO && Epoll.isAvailable();
  }

  public IoHandlerFactory handlers() {
    check();
    return epoll() ? LastingEpoll.factory() : NioIoHandler.newFactory();
  }

  Class<? extends ServerChannel> serverChannel(ListenerSettings.Type type) {
    if (type == ListenerSettings.Type.UNIX) {
      return epoll() ? EpollServerDomainSocketChannel.class : NioServerDomainSocketChannel.class;
    }
    return epoll() ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
  }

  SocketAddress unixAddress(String path) {
    return epoll() ? new DomainSocketAddress(path) : UnixDomainSocketAddress.of(path);
  }
}
