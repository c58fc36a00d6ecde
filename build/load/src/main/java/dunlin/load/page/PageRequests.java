package dunlin.load.page;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Answers the single request of a connection with a file of the page, or with the continuing events. */
final class PageRequests extends SimpleChannelInboundHandler<FullHttpRequest> {
  /*
   * Owner: the page's event loop.
   * Bounds: a connection that does not get events is closed after SECONDS_MAX in any case.
   * Failure: a malformed or forbidden request is answered with a status and a sentence, and the connection is closed.
   */
  private static final int SECONDS_MAX = 10;
  private static final String EVENTS = "/events";
  private static final String AFTER = "?after=";
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
          + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  private static final String TEXT = "text/plain; charset=utf-8";

  private final Gate gate;
  private final PageFiles files;
  private final Feed feed;

  private @Nullable Future<?> deadline;
  private boolean answered;

  PageRequests(Gate gate, PageFiles files, Feed feed) {
    this.gate = gate;
    this.files = files;
    this.feed = feed;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    deadline = context.executor().schedule(() -> context.close(), SECONDS_MAX, TimeUnit.SECONDS);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    cancelDeadline();
  }

  private void cancelDeadline() {
    if (deadline != null) deadline.cancel(false);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) throws Exception {
    context.close();
    if (!(cause instanceof IOException)) throw new IllegalStateException("a request of the page", cause);
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
    if (answered) { // a connection has only one request
      context.close();
      return;
    }
    answered = true;
    if (request.decoderResult().isFailure()) {
      refuse(context, BAD_REQUEST, "This is no request.\n");
      return;
    }
    Optional<String> refusal = gate.refusal(request.headers());
    if (refusal.isPresent()) {
      refuse(context, FORBIDDEN, refusal.get());
      return;
    }
    int question = request.uri().indexOf('?');
    String path = question < 0 ? request.uri() : request.uri().substring(0, question);
    boolean events = path.equals(EVENTS);
    boolean allowed = request.method().equals(HttpMethod.GET) || (!events && request.method().equals(HttpMethod.HEAD));
    if (!allowed) refuseMethod(context, events ? "GET" : "GET, HEAD");
    else if (events) events(context, request);
    else file(context, path);
  }

  private void file(ChannelHandlerContext context, String path) {
    Optional<PageFiles.Content> file = files.find(path);
    if (file.isEmpty()) refuse(context, NOT_FOUND, "There is no such file.\n");
    else end(context, answer(OK, file.get().type(), file.get().bytes()));
  }

  private void events(ChannelHandlerContext context, FullHttpRequest request) {
    if (Gate.isOfOtherSite(request.headers())) {
      refuse(context, FORBIDDEN, "The events are for their own page only.\n");
      return;
    }
    if (feed.refuses()) {
      refuse(context, SERVICE_UNAVAILABLE, "%d pages are open already.\n".formatted(Feed.PAGES_MAX));
      return;
    }
    cancelDeadline();
    var head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, OK);
    common(head.headers(), "text/event-stream");
    HttpUtil.setTransferEncodingChunked(head, true);
    context.write(head);
    String given = request.headers().get("last-event-id", "");
    String asked = request.uri().startsWith(EVENTS + AFTER) ? request.uri().substring(EVENTS.length() + AFTER.length()) : "";
    feed.add(context.channel(), given.isEmpty() ? asked : given);
  }

  private static void refuse(ChannelHandlerContext context, HttpResponseStatus status, String sentence) {
    end(context, answer(status, TEXT, sentence.getBytes(StandardCharsets.UTF_8)));
  }

  private static void refuseMethod(ChannelHandlerContext context, String methods) {
    FullHttpResponse answer = answer(METHOD_NOT_ALLOWED, TEXT, "There is %s only.\n".formatted(methods).getBytes(StandardCharsets.UTF_8));
    answer.headers().set(HttpHeaderNames.ALLOW, methods);
    end(context, answer);
  }

  private static FullHttpResponse answer(HttpResponseStatus status, String type, byte[] body) {
    var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
    common(answer.headers(), type);
    HttpUtil.setContentLength(answer, body.length);
    answer.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    return answer;
  }

  private static void end(ChannelHandlerContext context, FullHttpResponse answer) {
    context.writeAndFlush(answer).addListener(ChannelFutureListener.CLOSE);
  }

  private static void common(HttpHeaders headers, String type) {
    headers.set(HttpHeaderNames.CONTENT_TYPE, type);
    headers.set(HttpHeaderNames.CACHE_CONTROL, "no-store");
    headers.set(HttpHeaderNames.CONTENT_SECURITY_POLICY, POLICY);
    headers.set("x-content-type-options", "nosniff");
    headers.set("referrer-policy", "no-referrer");
    headers.set("cross-origin-opener-policy", "same-origin");
    headers.set("cross-origin-resource-policy", "same-origin");
  }
}
