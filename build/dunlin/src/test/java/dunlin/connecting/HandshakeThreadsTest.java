package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dunlin.broker.tls.HandshakeSignatures;
import dunlin.harness.Certificates;
import dunlin.harness.Certificates.Issued;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.OpenSslContextOption;
import io.netty.handler.ssl.OpenSslPrivateKeyMethod;
import io.netty.handler.ssl.OpenSslX509KeyManagerFactory;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What listeners rely on: BoringSSL, as Netty has it, asks for signatures on the threads that its handler was given, and not on the event loop. */
class HandshakeThreadsTest {
  @ParameterizedTest
  @CsvSource({"rsa,TLSv1.3", "rsa,TLSv1.2", "ec,TLSv1.3", "ec,TLSv1.2"})
  void signaturesAreMadeOnTheGivenThreads(String kind, String version) throws Exception {
    assumeTrue(OpenSsl.isAvailable());
    KeyPair keys = kind.equals("ec") ? Certificates.ec() : Certificates.rsa();
    Certificates authority = new Certificates();
    Issued server = authority.server(keys, Duration.ofDays(9));
    List<String> signed = new CopyOnWriteArrayList<>();
    OpenSslPrivateKeyMethod noting =
        new OpenSslPrivateKeyMethod() {
          private final HandshakeSignatures signatures = new HandshakeSignatures(keys.getPrivate());

          @Override
          public byte[] sign(SSLEngine engine, int algorithm, byte[] input) throws Exception {
            signed.add(Thread.currentThread().getName());
            return signatures.sign(engine, algorithm, input);
          }

          @Override
          public byte[] decrypt(SSLEngine engine, byte[] input) {
            throw new AssertionError();
          }
        };
    SslContext context =
        SslContextBuilder.forServer(OpenSslX509KeyManagerFactory.newKeyless(server.certificate()))
            .sslProvider(SslProvider.OPENSSL_REFCNT)
            .option(OpenSslContextOption.PRIVATE_KEY_METHOD, noting)
            .build();
    var loop = new MultiThreadIoEventLoopGroup(1, Thread.ofPlatform().name("loop").factory(), NioIoHandler.newFactory());
    try (ExecutorService steps = Executors.newSingleThreadExecutor(Thread.ofPlatform().name("steps").factory())) {
      Channel listening =
          new ServerBootstrap()
              .group(loop)
              .channel(NioServerSocketChannel.class)
              .childHandler(
                  new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel accepted) {
                      accepted.pipeline().addLast(context.newHandler(accepted.alloc(), steps));
                    }
                  })
              .bind("127.0.0.1", 0)
              .syncUninterruptibly()
              .channel();
      int port = ((InetSocketAddress) listening.localAddress()).getPort();
      try (SSLSocket client = (SSLSocket) authority.context().getSocketFactory().createSocket("127.0.0.1", port)) {
        client.setEnabledProtocols(new String[] {version});
        client.startHandshake();
        assertThat(client.getSession().getProtocol()).isEqualTo(version);
      }
      assertThat(signed).containsExactly("steps");
    } finally {
      loop.shutdownGracefully().syncUninterruptibly();
      ReferenceCountUtil.release(context);
    }
  }
}
