package dunlin.bench;

import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.InboundPublish;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.PacketDecoder;
import dunlin.broker.codec.PacketEncoder;
import dunlin.broker.codec.PacketHandler;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.mqtt.MqttDecoder;
import io.netty.handler.codec.mqtt.MqttEncoder;
import io.netty.handler.codec.mqtt.MqttFixedHeader;
import io.netty.handler.codec.mqtt.MqttMessageType;
import io.netty.handler.codec.mqtt.MqttPublishMessage;
import io.netty.handler.codec.mqtt.MqttPublishVariableHeader;
import io.netty.handler.codec.mqtt.MqttQoS;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Measures the cost of decoding a PUBLISH of 256 bytes at QoS 0 when 64 of them are in one buffer, and of encoding 64
 * into one buffer. Compares it with Netty's own MQTT codec.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(CodecBenchmark.FRAMES)
@Fork(
    value = 1,
    jvmArgsAppend = {
      "-Xmx1g",
      "-XX:+UseCompactObjectHeaders",
      "-XX:+UseParallelGC",
      // Same as bin/dunlin: without this option, Netty allocates at each copy out of a direct buffer.
      "--sun-misc-unsafe-memory-access=allow"
    })
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class CodecBenchmark {
  static final int FRAMES = 64;

  private static final int FRAME_BYTES = 256;
  private static final String TOPIC = "devices/4711/status";
  private static final Publisher PUBLISHER = new Publisher(Publisher.DEFAULT_TENANT, "c");
  private static final int[] NO_IDENTIFIERS = {};

  @Param({"MQTT_3_1_1", "MQTT_5"})
  ProtocolVersion version = ProtocolVersion.MQTT_3_1_1;

  private final ByteBuf frames = PooledByteBufAllocator.DEFAULT.directBuffer(FRAMES * FRAME_BYTES);
  private final ByteBuf out = PooledByteBufAllocator.DEFAULT.directBuffer(FRAMES * FRAME_BYTES);
  private final ByteBuf payload = PooledByteBufAllocator.DEFAULT.directBuffer(FRAME_BYTES);
  private final PacketDecoder decoder = new PacketDecoder(DecoderLimits.defaults());
  private final EmbeddedChannel nettyDecoder = new EmbeddedChannel(new MqttDecoder(1 << 20));
  private final EmbeddedChannel nettyEncoder = new EmbeddedChannel(MqttEncoder.INSTANCE);
  private final Handler looking = new Handler(false);
  private final Handler materialising = new Handler(true);
  private Publication message = Publication.of(PUBLISHER, TOPIC, QoS.AT_MOST_ONCE, false, 0, new byte[1]);

  @Setup
  public void fill(Blackhole blackhole) {
    int overhead = PacketEncoder.publishLength(version, message, QoS.AT_MOST_ONCE, NO_IDENTIFIERS, 0) - 1;
    // A longer payload needs a second byte of remaining length.
    byte[] content = new byte[FRAME_BYTES - overhead - 1];
    message = Publication.of(PUBLISHER, TOPIC, QoS.AT_MOST_ONCE, false, 0, content);
    payload.writeBytes(content);
    for (int i = 0; i < FRAMES; i++) encodeOne(frames);
    if (frames.readableBytes() != FRAMES * FRAME_BYTES) throw new IllegalStateException("frames of another size");

    looking.blackhole = blackhole;
    materialising.blackhole = blackhole;
    ByteBuf connect = PooledByteBufAllocator.DEFAULT.directBuffer();
    PacketEncoder.encode(connect, version, Packet.Connect.of(version, true, 60, "c"));
    decoder.decode(connect.duplicate(), looking);
    nettyDecoder.writeInbound(connect);
    ReferenceCountUtil.release(nettyDecoder.readInbound());
    AttributeKey<Object> nettyVersion = AttributeKey.valueOf("NETTY_CODEC_MQTT_VERSION");
    nettyEncoder.attr(nettyVersion).set(nettyDecoder.attr(nettyVersion).get());
  }

  @TearDown
  public void release() {
    frames.release();
    out.release();
    payload.release();
    nettyDecoder.finishAndReleaseAll();
    nettyEncoder.finishAndReleaseAll();
  }

  /** Decoding and validation alone: the cost of a publish that is refused or only counted. */
  @Benchmark
  public void decode() {
    frames.readerIndex(0);
    while (decoder.decode(frames, looking)) {}
  }

  /** Decoding, including the message that the broker keeps. */
  @Benchmark
  public void decodeToPublication() {
    frames.readerIndex(0);
    while (decoder.decode(frames, materialising)) {}
  }

  @Benchmark
  public void decodeByNetty(Blackhole blackhole) {
    nettyDecoder.writeInbound(frames.retainedDuplicate().readerIndex(0));
    for (Object read = nettyDecoder.readInbound(); read != null; read = nettyDecoder.readInbound()) {
      blackhole.consume(read);
      ReferenceCountUtil.release(read);
    }
  }

  @Benchmark
  public ByteBuf encode() {
    out.clear();
    for (int i = 0; i < FRAMES; i++) encodeOne(out);
    return out;
  }

  private void encodeOne(ByteBuf to) {
    PacketEncoder.publish(to, version, message, QoS.AT_MOST_ONCE, false, false, 0, NO_IDENTIFIERS, 0, 0);
  }

  @Benchmark
  public ByteBuf encodeByNetty() {
    out.clear();
    var fixed = new MqttFixedHeader(MqttMessageType.PUBLISH, false, MqttQoS.AT_MOST_ONCE, false, 0);
    for (int i = 0; i < FRAMES; i++) {
      var header = new MqttPublishVariableHeader(TOPIC, 0);
      nettyEncoder.writeOutbound(new MqttPublishMessage(fixed, header, payload.retainedDuplicate()));
      for (ByteBuf part = nettyEncoder.readOutbound(); part != null; part = nettyEncoder.readOutbound()) {
        out.writeBytes(part);
        part.release();
      }
    }
    return out;
  }

  /** Hands all results to JMH's black hole, so that the JIT compiler cannot remove the work. */
  private static final class Handler implements PacketHandler {
    private final boolean materialise;
    private @Nullable Blackhole blackhole;

    Handler(boolean materialise) {
      this.materialise = materialise;
    }

    private void consume(Object value) {
      if (blackhole != null) blackhole.consume(value);
    }

    @Override
    public void onPublish(InboundPublish publish) {
      if (materialise) consume(publish.toPublication(PUBLISHER, 0, null));
      else consume(publish);
    }

    @Override
    public void onConnect(Packet.Connect packet) {
      consume(packet);
    }

    @Override
    public void onPuback(int packetId, ReasonCode reason) {
      consume(reason);
    }

    @Override
    public void onPubrec(int packetId, ReasonCode reason) {
      consume(reason);
    }

    @Override
    public void onPubrel(int packetId, ReasonCode reason) {
      consume(reason);
    }

    @Override
    public void onPubcomp(int packetId, ReasonCode reason) {
      consume(reason);
    }

    @Override
    public void onSubscribe(Packet.Subscribe packet) {
      consume(packet);
    }

    @Override
    public void onUnsubscribe(Packet.Unsubscribe packet) {
      consume(packet);
    }

    @Override
    public void onPingreq() {}

    @Override
    public void onDisconnect(Packet.Disconnect packet) {
      consume(packet);
    }

    @Override
    public void onAuth(Packet.Auth packet) {
      consume(packet);
    }
  }
}
