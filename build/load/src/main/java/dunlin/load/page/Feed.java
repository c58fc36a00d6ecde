package dunlin.load.page;

import dunlin.load.engine.Point;
import dunlin.load.report.LiveReport;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Sends server-sent events to the open pages: figures each second, and the result at the end. */
final class Feed {
  /*
   * Owner: the page's event loop.
   * Bounds: PAGES_MAX open pages. Nothing is queued for a page: missed seconds are in the Timeline, the latest state
   * replaces all earlier ones, and a page gets more only when Netty has sent nearly everything before it. Full:
   * refuses() says so.
   * Failure: a page that accepts nothing for SECONDS_BEHIND_MAX seconds is disconnected and counted. A reconnecting
   * page sends the number of the last second that it received.
   */
  static final int PAGES_MAX = 16;
  static final int SECONDS_BEHIND_MAX = 10;
  private static final int RETRY_MILLIS = 1_000;

  private final String run;
  private final String about;
  private final Timeline timeline = new Timeline();
  private final List<OpenPage> pages = new ArrayList<>();
  private final ChannelGroup channels;

  private @Nullable String state;
  private @Nullable String end;
  private int refused;
  private int cutOff;

  /** An open page, and its position. */
  private static final class OpenPage {
    private final Channel channel;
    private long number;
    private int secondsBehind;

    private OpenPage(Channel channel, long number) {
      this.channel = channel;
      this.number = number;
    }
  }

  /**
   * @param run distinguishes this run from others at the same address
   * @param about what is known before the run begins, as JSON
   */
  Feed(String run, String about, EventExecutor owner) {
    this.run = run;
    this.about = about;
    channels = new DefaultChannelGroup(owner);
  }

  /**
   * Adds a page whose response head has been sent.
   *
   * @param lastEvent the identifier of the last event that it received; empty for none
   */
  void add(Channel channel, String lastEvent) {
    var page = new OpenPage(channel, numberOf(lastEvent));
    channels.add(channel);
    pages.add(page);
    channel.closeFuture().addListener(_ -> pages.remove(page));
    write(page, "retry: %d\n".formatted(RETRY_MILLIS) + event("run", "", about));
    give(page);
  }

  /** Returns true and counts the refusal when there is no room for another page. */
  boolean refuses() {
    if (pages.size() < PAGES_MAX) return false;
    refused++;
    return true;
  }

  void connectionRefused() {
    refused++;
  }

  private long numberOf(String lastEvent) {
    String prefix = run + "-";
    if (!lastEvent.startsWith(prefix) || !lastEvent.substring(prefix.length()).matches("[0-9]{1,18}")) return 0;
    return Math.min(timeline.last(), Long.parseLong(lastEvent.substring(prefix.length())));
  }

  void second(Point point, String newState) {
    timeline.add(point);
    state = newState;
    giveAll();
  }

  /** Sends the result as the last event. */
  void end(String result) {
    if (end != null) return;
    end = result;
    giveAll();
  }

  /** Ends all responses; the future completes when they are sent. */
  Future<?> close() {
    for (OpenPage page : List.copyOf(pages)) page.channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).addListener(ChannelFutureListener.CLOSE);
    return channels.newCloseFuture();
  }

  private void giveAll() {
    for (OpenPage page : List.copyOf(pages)) {
      if (end != null || page.channel.isWritable()) {
        page.secondsBehind = 0;
        give(page);
      } else if (++page.secondsBehind > SECONDS_BEHIND_MAX) {
        cutOff++;
        page.channel.close();
      }
    }
  }

  private void give(OpenPage page) {
    List<Timeline.Row> rows = timeline.after(page.number);
    if (!rows.isEmpty()) {
      page.number = timeline.last();
      write(page, event("seconds", "%s-%d".formatted(run, page.number), LiveReport.points(rows.stream().map(Timeline.Row::point).toList())));
    }
    if (state != null) write(page, event("state", "", state));
    write(page, event("pages", "", "{\"open\": %d, \"refused\": %d, \"cutOff\": %d}".formatted(pages.size(), refused, cutOff)));
    if (end != null) write(page, event("end", "", end));
    page.channel.flush();
  }

  private static void write(OpenPage page, String event) {
    ByteBuf bytes = Unpooled.copiedBuffer(event, StandardCharsets.UTF_8);
    page.channel.write(new DefaultHttpContent(bytes));
  }

  private static String event(String name, String id, String data) {
    return "event: " + name + (id.isEmpty() ? "" : "\nid: " + id) + "\ndata: " + data + "\n\n";
  }
}
