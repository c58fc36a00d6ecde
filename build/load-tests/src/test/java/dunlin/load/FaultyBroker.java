package dunlin.load;

import dunlin.load.count.TopicTree;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.mqtt.MqttConnAckMessage;
import io.netty.handler.codec.mqtt.MqttConnectMessage;
import io.netty.handler.codec.mqtt.MqttConnectReturnCode;
import io.netty.handler.codec.mqtt.MqttDecoder;
import io.netty.handler.codec.mqtt.MqttEncoder;
import io.netty.handler.codec.mqtt.MqttFixedHeader;
import io.netty.handler.codec.mqtt.MqttMessage;
import io.netty.handler.codec.mqtt.MqttMessageBuilders;
import io.netty.handler.codec.mqtt.MqttMessageIdVariableHeader;
import io.netty.handler.codec.mqtt.MqttMessageType;
import io.netty.handler.codec.mqtt.MqttProperties;
import io.netty.handler.codec.mqtt.MqttPubReplyMessageVariableHeader;
import io.netty.handler.codec.mqtt.MqttPublishMessage;
import io.netty.handler.codec.mqtt.MqttPublishVariableHeader;
import io.netty.handler.codec.mqtt.MqttQoS;
import io.netty.handler.codec.mqtt.MqttReasonCodeAndPropertiesVariableHeader;
import io.netty.handler.codec.mqtt.MqttSubscribeMessage;
import io.netty.handler.codec.mqtt.MqttVersion;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/** A broker without state that injects configured faults. It uses Netty's codec, which checks ours independently. */
public final class FaultyBroker implements AutoCloseable {
  /* Owner: one event loop does everything; settings are changed before clients connect. */

  /** The fault of one delivery. */
  public enum Fault {
    NONE,
    DROP,
    DOUBLE,
    /** The delivery is sent after the next one to the same receiver. */
    SWAP
  }

  public final AtomicInteger dropped = new AtomicInteger();
  public final AtomicInteger doubled = new AtomicInteger();
  public final AtomicInteger swapped = new AtomicInteger();
  public final AtomicInteger delivered = new AtomicInteger();
  public final AtomicInteger published = new AtomicInteger();
  public final AtomicInteger connected = new AtomicInteger();
  public final AtomicInteger disconnected = new AtomicInteger();

  public IntFunction<Fault> fault = _ -> Fault.NONE;
  public IntPredicate refusesConnect = _ -> false;
  public IntPredicate refusesPublish = _ -> false;
  public IntPredicate swallowsPublish = _ -> false;
  public IntPredicate endsAfterPublish = _ -> false;
  /** Whether a message for a shared group is sent to two of its members. */
  public IntPredicate givesToTwo = _ -> false;
  /** Receives each client identifier, on the broker's thread. */
  public Consumer<String> connecting = _ -> {};

  private final MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final Channel server;
  private final TopicTree<Client> alone = new TopicTree<>();
  private final Map<String, List<Client>> groups = new HashMap<>();
  private final TopicTree<String> groupFilters = new TopicTree<>();
  private volatile boolean subscribed;
  private int connects;
  private int publishes;
  private int deliveries;
  private int turn;

  public FaultyBroker() {
    server =
        new ServerBootstrap()
            .group(group)
            .channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new MqttDecoder(1_000_000), MqttEncoder.INSTANCE, new Client());
              }
            })
            .bind("127.0.0.1", 0)
            .syncUninterruptibly()
            .channel();
  }

  public boolean hasSubscribers() {
    return subscribed;
  }

  public int port() {
    return ((InetSocketAddress) server.localAddress()).getPort();
  }

  @Override
  public void close() {
    server.close().syncUninterruptibly();
    group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
  }

  private record Delivery(String topic, int qos, ByteBuf payload) {}

  private final class Client extends SimpleChannelInboundHandler<MqttMessage> {
    private @Nullable ChannelHandlerContext context;
    private boolean version5;
    private int qos;
    private int packetId;
    private @Nullable Delivery held;

    @Override
    protected void channelRead0(ChannelHandlerContext where, MqttMessage message) {
      context = where;
      if (message.decoderResult().isFailure()) throw new AssertionError("the tool sent nonsense", message.decoderResult().cause());
      switch (message.fixedHeader().messageType()) {
        case CONNECT -> connect((MqttConnectMessage) message);
        case SUBSCRIBE -> subscribe((MqttSubscribeMessage) message);
        case PUBLISH -> publish((MqttPublishMessage) message);
        case PUBREL -> reply(MqttMessageType.PUBCOMP, id(message), 0);
        case PUBREC -> reply(MqttMessageType.PUBREL, id(message), 0);
        case PINGREQ -> where.writeAndFlush(MqttMessage.PINGRESP);
        case DISCONNECT -> {
          disconnected.incrementAndGet();
          where.close();
        }
        default -> {} // PUBACK, PUBCOMP: the broker has no state to change
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext where) {
      context = null;
      if (held != null) held.payload().release();
      held = null;
    }

    private void connect(MqttConnectMessage message) {
      connecting.accept(message.payload().clientIdentifier());
      version5 = message.variableHeader().version() == MqttVersion.MQTT_5.protocolLevel();
      if (refusesConnect.test(connects++)) {
        MqttConnectReturnCode code = version5 ? MqttConnectReturnCode.CONNECTION_REFUSED_NOT_AUTHORIZED_5 : MqttConnectReturnCode.CONNECTION_REFUSED_NOT_AUTHORIZED;
        channel().writeAndFlush(connack(code));
        channel().close();
        return;
      }
      connected.incrementAndGet();
      channel().writeAndFlush(connack(MqttConnectReturnCode.CONNECTION_ACCEPTED));
    }

    private MqttConnAckMessage connack(MqttConnectReturnCode code) {
      return MqttMessageBuilders.connAck().returnCode(code).sessionPresent(false).properties(MqttProperties.NO_PROPERTIES).build();
    }

    private void subscribe(MqttSubscribeMessage message) {
      var granted = new ArrayList<MqttQoS>();
      for (var subscription : message.payload().topicSubscriptions()) {
        String filter = subscription.topicFilter();
        qos = subscription.qualityOfService().value();
        granted.add(subscription.qualityOfService());
        if (filter.startsWith("$share/")) {
          if (groups.computeIfAbsent(filter, _ -> new ArrayList<>()).isEmpty()) groupFilters.add(filter.substring(filter.indexOf('/', 7) + 1), filter);
          groups.get(filter).add(this);
        } else {
          alone.add(filter, this);
        }
      }
      subscribed = true;
      var builder = MqttMessageBuilders.subAck().packetId(message.variableHeader().messageId());
      channel().writeAndFlush(builder.addGrantedQoses(granted.toArray(MqttQoS[]::new)).build());
    }

    private void publish(MqttPublishMessage message) {
      int number = publishes++;
      published.incrementAndGet();
      int sent = message.fixedHeader().qosLevel().value();
      int id = message.variableHeader().packetId();
      boolean refused = sent > 0 && refusesPublish.test(number);
      if (swallowsPublish.test(number)) return;
      if (sent > 0) reply(sent == 1 ? MqttMessageType.PUBACK : MqttMessageType.PUBREC, id, refused ? 0x97 : 0);
      if (!refused) route(message.variableHeader().topicName(), sent, message.payload());
      if (endsAfterPublish.test(number)) {
        if (version5) {
          channel().writeAndFlush(new MqttMessage(header(MqttMessageType.DISCONNECT, 0), new MqttReasonCodeAndPropertiesVariableHeader((byte) 0x98, MqttProperties.NO_PROPERTIES)));
        }
        channel().close();
      }
    }

    private void route(String topic, int sent, ByteBuf payload) {
      alone.match(topic, to -> to.deliver(topic, sent, payload));
      groupFilters.match(topic, filter -> {
        List<Client> members = groups.getOrDefault(filter, List.of());
        members.get(turn++ % members.size()).deliver(topic, sent, payload);
        if (givesToTwo.test(turn)) members.get(turn % members.size()).deliver(topic, sent, payload);
      });
    }

    private void deliver(String topic, int sent, ByteBuf payload) {
      if (context == null) return;
      var delivery = new Delivery(topic, Math.min(qos, sent), payload);
      switch (held == null ? fault.apply(deliveries++) : Fault.NONE) {
        case NONE -> write(delivery);
        case DROP -> dropped.incrementAndGet();
        case DOUBLE -> {
          doubled.incrementAndGet();
          write(delivery);
          write(delivery);
        }
        case SWAP -> {
          held = new Delivery(topic, delivery.qos(), payload.retainedDuplicate());
          return;
        }
      }
      if (held == null) return;
      Delivery late = held;
      held = null;
      swapped.incrementAndGet();
      write(late);
      late.payload().release();
    }

    private void write(Delivery delivery) {
      delivered.incrementAndGet();
      packetId = packetId % 65_000 + 1;
      channel().writeAndFlush(
          new MqttPublishMessage(
              new MqttFixedHeader(MqttMessageType.PUBLISH, false, MqttQoS.valueOf(delivery.qos()), false, 0),
              new MqttPublishVariableHeader(delivery.topic(), packetId),
              delivery.payload().retainedDuplicate()));
    }

    private void reply(MqttMessageType type, int id, int reason) {
      var header = header(type, type == MqttMessageType.PUBREL ? 1 : 0);
      channel().writeAndFlush(new MqttMessage(header, new MqttPubReplyMessageVariableHeader(id, (byte) reason, MqttProperties.NO_PROPERTIES)));
    }

    private static MqttFixedHeader header(MqttMessageType type, int qos) {
      return new MqttFixedHeader(type, false, MqttQoS.valueOf(qos), false, 0);
    }

    private static int id(MqttMessage message) {
      return ((MqttMessageIdVariableHeader) message.variableHeader()).messageId();
    }

    private ChannelHandlerContext contextOrThrow() {
      if (context == null) throw new IllegalStateException("not connected");
      return context;
    }

    private Channel channel() {
      return contextOrThrow().channel();
    }
  }
}
