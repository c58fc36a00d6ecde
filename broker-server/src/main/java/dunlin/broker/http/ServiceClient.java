package dunlin.broker.http;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sends requests to a service: one deadline for all of an answer, a bound on its size, no redirects. */
public final class ServiceClient implements AutoCloseable {
  /*
   * Owner: any thread; send() blocks the caller's.
   * Bounds: sizeMax bytes of an answer, timeout for all of it. The caller bounds how many requests there are at a time, and with that the connections:
   * one is used by one request at a time.
   * Failure: an exception that says why. Nothing is sent a second time.
   */
  private static final int OK = 200;
  private static final int REDIRECTS = 300;
  private static final int ERRORS = 400;

  private final HttpClient client;
  private final Duration timeout;
  private final int sizeMax;

  /** The service answers with something other than 200. */
  public static final class StatusException extends IOException {
    private final int status;

    StatusException(int status) {
      super(status >= REDIRECTS && status < ERRORS ? "it answers with a redirect (%d), which is not followed".formatted(status) : "it answers " + status);
      this.status = status;
    }

    /** The status of the answer. */
    public int status() {
      return status;
    }
  }

  /**
   * @param timeout from the request to the end of its answer
   * @param sizeMax bytes of the largest answer that is read
   */
  public ServiceClient(Duration timeout, int sizeMax) {
    this.timeout = timeout;
    this.sizeMax = sizeMax;
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(timeout)
            .executor(Executors.newVirtualThreadPerTaskExecutor())
            .build();
  }

  /**
   * Sends a request, and returns the body of the answer.
   *
   * @throws StatusException if the status of the answer is not 200
   * @throws IOException if there is no answer, or it is too large
   * @throws TimeoutException if it does not end in time
   */
  public byte[] send(HttpRequest.Builder request) throws IOException, InterruptedException, TimeoutException {
    // The request's own timeout ends with the head of the answer; a body may come byte by byte.
    CompletableFuture<HttpResponse<byte[]>> answer =
        client.sendAsync(request.timeout(timeout).build(), HttpResponse.BodyHandlers.limiting(HttpResponse.BodyHandlers.ofByteArray(), sizeMax));
    try {
      HttpResponse<byte[]> response = answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
      if (response.statusCode() != OK) throw new StatusException(response.statusCode());
      return response.body();
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage(), cause);
    } finally {
      answer.cancel(true); // nothing if it has ended
    }
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
