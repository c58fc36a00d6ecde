package dunlin.broker.listen;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Upgrades the single HTTP request of a connection to a WebSocket, or answers it with an error and closes; RFC 6455,
 * section 4.2, and MQTT 5, section 6. No extension is negotiated, so nothing is compressed.
 */
final class WebSocketUpgrade extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the channel's event loop.
   * Bounds: HEAD_MAX bytes each of the request line and of the headers; the connect timeout runs from the accept.
   * Failure: every request that does not open a WebSocket is counted and answered with a status 4xx, and the connection
   * is closed.
   */
  private static final int HEAD_MAX = 8 * 1_024;
  private static final String SALT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  private static final int KEY_LENGTH = 16;

  /** The second name was used for MQTT 3.1, before the first was registered. */
  private static final List<String> PROTOCOLS = List.of("mqtt", "mqttv3.1");

  private final Listener listener;
  private boolean answered;
  private @Nullable String accepted;

  WebSocketUpgrade(Listener listener) {
    this.listener = listener;
  }

  /** Creates the decoder of the request. */
  static HttpRequestDecoder decoder() {
    return new HttpRequestDecoder(
        new HttpDecoderConfig().setMaxInitialLineLength(HEAD_MAX).setMaxHeaderSize(HEAD_MAX).setInitialBufferSize(256));
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object part) {
    try {
      if (part instanceof HttpRequest request && !answered) answer(ctx, request);
      // Only now has the decoder consumed the whole request; further bytes go to the frames when it is removed.
      if (part instanceof LastHttpContent && accepted != null) becomeWebSocket(ctx, accepted);
    } finally {
      ReferenceCountUtil.release(part);
    }
  }

  private void answer(ChannelHandlerContext ctx, HttpRequest request) {
    answered = true;
    HttpHeaders headers = request.headers();
    Throwable fault = request.decoderResult().cause();
    if (fault instanceof TooLongHttpLineException) refuse(ctx, HttpResponseStatus.REQUEST_URI_TOO_LONG, "");
    else if (fault instanceof TooLongHttpHeaderException) refuse(ctx, HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "");
    else if (fault != null) refuse(ctx, HttpResponseStatus.BAD_REQUEST, "");
    else if (!path(request.uri()).equals(listener.settings().address().path())) refuse(ctx, HttpResponseStatus.NOT_FOUND, "");
    else if (!request.method().equals(HttpMethod.GET)) refuse(ctx, HttpResponseStatus.METHOD_NOT_ALLOWED, "Allow: GET\r\n");
    else if (!asksForWebSocket(request)) refuse(ctx, HttpResponseStatus.UPGRADE_REQUIRED, "Upgrade: websocket\r\n");
    else if (!headers.contains(HttpHeaderNames.SEC_WEBSOCKET_VERSION, "13", false)) {
      refuse(ctx, HttpResponseStatus.UPGRADE_REQUIRED, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    } else if (!fromAdmittedPage(ctx, headers)) {
      refuse(ctx, HttpResponseStatus.FORBIDDEN, "");
    } else {
      String key = headers.get(HttpHeaderNames.SEC_WEBSOCKET_KEY);
      String protocol = chosenProtocol(headers);
      if (key == null || !isKey(key) || protocol == null || hasBody(request)) refuse(ctx, HttpResponseStatus.BAD_REQUEST, "");
      else accepted = "Sec-WebSocket-Accept: " + acceptFor(key) + "\r\nSec-WebSocket-Protocol: " + protocol + "\r\n";
    }
  }

  private boolean fromAdmittedPage(ChannelHandlerContext ctx, HttpHeaders headers) {
    return listener
        .origins()
        .admits(headers.getAll(HttpHeaderNames.ORIGIN), headers.getAll(HttpHeaderNames.HOST), ctx.channel().localAddress());
  }

  private static String path(String uri) {
    int query = uri.indexOf('?');
    return query < 0 ? uri : uri.substring(0, query);
  }

  private static boolean asksForWebSocket(HttpRequest request) {
    HttpHeaders headers = request.headers();
    return request.protocolVersion().equals(HttpVersion.HTTP_1_1)
        && headers.containsValue(HttpHeaderNames.UPGRADE, "websocket", true)
        && headers.containsValue(HttpHeaderNames.CONNECTION, "upgrade", true);
  }

  private static boolean hasBody(HttpRequest request) {
    return HttpUtil.isTransferEncodingChunked(request) || HttpUtil.getContentLength(request, 0L) != 0;
  }

  private static boolean isKey(String key) {
    try {
      return Base64.getDecoder().decode(key).length == KEY_LENGTH;
    } catch (IllegalArgumentException _) {
      return false;
    }
  }

  /** The sub-protocol for the answer [MQTT-6.0.0-4], or null if the client offers none that is supported. */
  private static @Nullable String chosenProtocol(HttpHeaders headers) {
    for (String protocol : PROTOCOLS) {
      if (headers.containsValue(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL, protocol, false)) return protocol;
    }
    return null;
  }

  private static String acceptFor(String key) {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-1").digest((key + SALT).getBytes(StandardCharsets.US_ASCII));
      return Base64.getEncoder().encodeToString(hash);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("a JDK without SHA-1", e);
    }
  }

  private void becomeWebSocket(ChannelHandlerContext ctx, String headers) {
    accepted = null;
    ctx.writeAndFlush(
        head(ctx, HttpResponseStatus.SWITCHING_PROTOCOLS, "Upgrade: websocket\r\nConnection: Upgrade\r\n" + headers),
        ctx.voidPromise());
    ctx.pipeline().addAfter(ctx.name(), null, new WebSocketFrames(listener));
    ctx.pipeline().remove(this);
    ctx.pipeline().remove(HttpRequestDecoder.class);
  }

  private void refuse(ChannelHandlerContext ctx, HttpResponseStatus status, String headers) {
    answered = true;
    listener.refused(ListenerRefusal.HTTP_REQUEST, ctx.channel(), "HTTP " + status);
    ctx.writeAndFlush(head(ctx, status, headers + "Connection: close\r\nContent-Length: 0\r\n"))
        .addListener(ChannelFutureListener.CLOSE);
  }

  private static ByteBuf head(ChannelHandlerContext ctx, HttpResponseStatus status, String headers) {
    return ByteBufUtil.writeAscii(ctx.alloc(), "HTTP/1.1 " + status + "\r\n" + headers + "\r\n");
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (cause instanceof DecoderException && !answered) refuse(ctx, HttpResponseStatus.BAD_REQUEST, "");
    else ctx.fireExceptionCaught(cause);
  }
}
