package dunlin.harness;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dunlin.harness.Certificates.Issued;
import dunlin.harness.Certificates.Standing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** An OCSP responder on loopback that says of certificates what a test wants. */
public final class OcspResponder implements AutoCloseable {
  /** An answer to one question. */
  public interface Answering {
    void answer(HttpExchange exchange, byte[] question) throws IOException;
  }

  private final Certificates authority;
  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Map<BigInteger, Standing> standings = new ConcurrentHashMap<>();
  private final AtomicInteger questions = new AtomicInteger();
  private volatile Answering answering = this::usual;

  /** Says that certificates are unknown until a test says otherwise. */
  public OcspResponder(Certificates authority) {
    this.authority = authority;
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    server.setExecutor(threads);
    server.createContext("/", exchange -> {
      try (exchange) {
        questions.incrementAndGet();
        answering.answer(exchange, exchange.getRequestBody().readAllBytes());
      }
    });
    server.start();
  }

  public String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/ocsp";
  }

  /** How often it was asked. */
  public int questions() {
    return questions.get();
  }

  public void says(Issued issued, Standing standing) {
    standings.put(issued.certificate().getSerialNumber(), standing);
  }

  /** Answers in this way from now on. */
  public void answers(Answering next) {
    answering = next;
  }

  /** The answer of the authority. */
  public void usual(HttpExchange exchange, byte[] question) throws IOException {
    Standing standing = standings.getOrDefault(Certificates.asked(question), Standing.UNKNOWN);
    send(exchange, 200, authority.answer(question, standing, Duration.ofMinutes(-1)));
  }

  public static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "application/ocsp-response");
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
