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

/** How event loops wait for their sockets. */
public enum IoTransport {
  /** Epoll where there is one. */
  AUTO,
  /** Linux's own, through a native library; fewer system calls and objects. */
  EPOLL,
  /** The JDK's, everywhere. */
  NIO;

  /** @throws ListenerException when it is not available here */
  void check() {
    if (this == EPOLL && !Epoll.isAvailable()) {
      throw new ListenerException(
          "dunlin.io.transport: epoll is not available here, leave it at auto", Epoll.unavailabilityCause());
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
