package dunlin.broker.listen;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollIoOps;

/**
 * Netty's epoll, modified so that a socket without events of interest stays registered. If a client closes its side
 * while it is not read from, the set of events becomes empty. Netty (4.2.18 to 4.2.20) removes such a socket from epoll
 * and does not add it again: the next request to read fails with ENOENT, the connection is closed, and the client's
 * last bytes are lost unread. Here the empty set is edge-triggered instead, so that a socket that was reset wakes the
 * loop only once.
 */
final class LastingEpoll implements IoHandler {
  private final IoHandler epoll;

  private LastingEpoll(IoHandler epoll) {
    this.epoll = epoll;
  }

  static IoHandlerFactory factory() {
    IoHandlerFactory epoll = EpollIoHandler.newFactory();
    return executor -> new LastingEpoll(epoll.newHandler(executor));
  }

  @Override
  public IoRegistration register(IoHandle handle) throws Exception {
    return new Lasting(epoll.register(handle));
  }

  @SuppressWarnings("TypeParameterUnusedInFormals") // the signature is given by the interface
  private record Lasting(IoRegistration registration) implements IoRegistration {
    @Override
    public long submit(IoOps ops) {
      return registration.submit(EpollIoOps.NONE.equals(ops) ? EpollIoOps.EPOLLET : ops);
    }

    @Override
    public <T> T attachment() {
      return registration.attachment();
    }

    @Override
    public boolean isValid() {
      return registration.isValid();
    }

    @Override
    public boolean cancel() {
      return registration.cancel();
    }
  }

  @Override
  public void initialize() {
    epoll.initialize();
  }

  @Override
  public int run(IoHandlerContext context) {
    return epoll.run(context);
  }

  @Override
  public void prepareToDestroy() {
    epoll.prepareToDestroy();
  }

  @Override
  public void destroy() {
    epoll.destroy();
  }

  @Override
  public void wakeup() {
    epoll.wakeup();
  }

  @Override
  public boolean isCompatible(Class<? extends IoHandle> type) {
    return epoll.isCompatible(type);
  }
}
