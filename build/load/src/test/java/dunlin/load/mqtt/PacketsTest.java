package dunlin.load.mqtt;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.mqtt.MqttConnectMessage;
import io.netty.handler.codec.mqtt.MqttConnectReturnCode;
import io.netty.handler.codec.mqtt.MqttDecoder;
import io.netty.handler.codec.mqtt.MqttEncoder;
import io.netty.handler.codec.mqtt.MqttMessage;
import io.netty.handler.codec.mqtt.MqttMessageBuilders;
import io.netty.handler.codec.mqtt.MqttProperties;
import io.netty.handler.codec.mqtt.MqttPublishMessage;
import io.netty.handler.codec.mqtt.MqttQoS;
import io.netty.handler.codec.mqtt.MqttSubscribeMessage;
import io.netty.handler.codec.mqtt.MqttVersion;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests our packets against Netty's codec. */
class PacketsTest {
  /** Records packets as text. */
  private static final class Notes implements PacketListener {
    final List<String> notes = new ArrayList<>();

    @Override
    public void connack(boolean sessionPresent, int code, Limits limits) {
      notes.add("connack %s %d %d %d %d %d".formatted(sessionPresent, code, limits.receiveMaximum(), limits.keepAliveSeconds(), limits.maximumQos(), limits.maximumPacketSize()));
    }

    @Override
    public void publish(int qos, boolean dup, boolean retain, int packetId, ByteBuf in, int payloadIndex, int payloadLength) {
      notes.add("publish %d %s %s %d %s".formatted(qos, dup, retain, packetId, in.toString(payloadIndex, payloadLength, UTF_8)));
    }

    @Override
    public void ack(int type, int packetId, int reason) {
      notes.add("ack %d %d %d".formatted(type, packetId, reason));
    }

    @Override
    public void suback(int packetId, ByteBuf in, int codesIndex, int codes) {
      notes.add("suback %d %d".formatted(packetId, codes));
    }

    @Override
    public void pingresp() {
      notes.add("pingresp");
    }

    @Override
    public void disconnect(int reason) {
      notes.add("disconnect %d".formatted(reason));
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(UTF_8);
  }

  private static <T extends MqttMessage> T decoded(Class<T> type, ByteBuf first, ByteBuf... more) {
    var channel = new EmbeddedChannel(new MqttDecoder());
    channel.writeInbound(first);
    for (ByteBuf next : more) {
      channel.<MqttMessage>readInbound();
      channel.writeInbound(next);
    }
    MqttMessage message = channel.readInbound();
    assertThat(message.decoderResult().isSuccess()).as("%s", message.decoderResult()).isTrue();
    return type.cast(message);
  }

  private static ByteBuf connect(Version version) {
    ByteBuf out = Unpooled.buffer();
    PacketWriter.connect(out, new Connect(version, utf8("id"), false, 77, 3_600, 10, utf8("user"), utf8("secret"), new Will(utf8("gone"), utf8("bye"), 1, true)));
    return out;
  }

  @ParameterizedTest
  @EnumSource
  void connectHasAllItsFields(Version version) {
    MqttConnectMessage message = decoded(MqttConnectMessage.class, connect(version));

    assertThat(message.variableHeader().version()).isEqualTo(version.protocolLevel());
    assertThat(message.variableHeader().isCleanSession()).isFalse();
    assertThat(message.variableHeader().keepAliveTimeSeconds()).isEqualTo(77);
    assertThat(message.variableHeader().willQos()).isEqualTo(1);
    assertThat(message.variableHeader().isWillRetain()).isTrue();
    assertThat(message.payload().clientIdentifier()).isEqualTo("id");
    assertThat(message.payload().willTopic()).isEqualTo("gone");
    assertThat(message.payload().willMessageInBytes()).isEqualTo(utf8("bye"));
    assertThat(message.payload().userName()).isEqualTo("user");
    assertThat(message.payload().passwordInBytes()).isEqualTo(utf8("secret"));
    if (version == Version.V5) assertThat(message.variableHeader().properties().listAll()).hasSize(2);
  }

  @ParameterizedTest
  @EnumSource
  void publishAndSubscribeAreEncodedCorrectly(Version version) {
    ByteBuf publish = Unpooled.buffer();
    PacketWriter.publishHead(publish, version, utf8("a/b"), 1, true, true, 500, 200);
    publish.writeBytes(new byte[200]);
    ByteBuf subscribe = Unpooled.buffer();
    PacketWriter.subscribe(subscribe, version, 9, List.of(new Filter(utf8("a/#"), 2), new Filter(utf8("b"), 0)));

    MqttPublishMessage published = decoded(MqttPublishMessage.class, connect(version), publish);
    MqttSubscribeMessage subscribed = decoded(MqttSubscribeMessage.class, connect(version), subscribe);

    assertThat(published.variableHeader().topicName()).isEqualTo("a/b");
    assertThat(published.variableHeader().packetId()).isEqualTo(500);
    assertThat(published.fixedHeader().isDup()).isTrue();
    assertThat(published.fixedHeader().isRetain()).isTrue();
    assertThat(published.payload().readableBytes()).isEqualTo(200);
    assertThat(subscribed.payload().topicSubscriptions()).extracting(subscription -> subscription.topicFilter() + subscription.qualityOfService().value()).containsExactly("a/#2", "b0");
  }

  private static ByteBuf encoded(Version version, MqttMessage... messages) {
    var channel = new EmbeddedChannel(MqttEncoder.INSTANCE);
    // The encoder takes the version from the CONNECT that the same channel has read.
    var reading = new EmbeddedChannel(new MqttDecoder(), MqttEncoder.INSTANCE);
    reading.writeInbound(connect(version));
    ByteBuf all = Unpooled.buffer();
    for (MqttMessage message : messages) {
      reading.writeOutbound(message);
      for (ByteBuf part = reading.readOutbound(); part != null; part = reading.readOutbound()) {
        all.writeBytes(part);
        part.release();
      }
    }
    channel.close();
    return all;
  }

  @ParameterizedTest
  @EnumSource
  void packetsAreDecodedFromAnyFragments(Version version) {
    var properties = new MqttProperties();
    if (version == Version.V5) {
      properties.add(new MqttProperties.IntegerProperty(0x21, 20));
      properties.add(new MqttProperties.StringProperty(0x1F, "a reason"));
      properties.add(new MqttProperties.UserProperty("key", "value"));
      properties.add(new MqttProperties.IntegerProperty(0x13, 99));
      properties.add(new MqttProperties.IntegerProperty(0x27, 5_000));
    }
    ByteBuf all =
        encoded(
            version,
            MqttMessageBuilders.connAck().returnCode(MqttConnectReturnCode.CONNECTION_ACCEPTED).sessionPresent(true).properties(properties).build(),
            MqttMessageBuilders.subAck().packetId(3).addGrantedQoses(MqttQoS.AT_LEAST_ONCE, MqttQoS.FAILURE).build(),
            MqttMessageBuilders.publish().topicName("t").qos(MqttQoS.EXACTLY_ONCE).messageId(8).retained(true).payload(Unpooled.copiedBuffer("x".repeat(300), UTF_8)).build(),
            MqttMessageBuilders.pubAck().packetId(5).reasonCode((byte) 0).build(),
            MqttMessage.PINGRESP);
    String limits = version == Version.V5 ? "20 99 2 5000" : "65535 -1 2 " + Long.MAX_VALUE;
    List<String> expected = List.of("connack true 0 " + limits, "suback 3 2", "publish 2 false true 8 " + "x".repeat(300), "ack 4 5 0", "pingresp");

    for (int chunk : new int[] {1, 2, 3, 7, 1_000}) {
      var notes = new Notes();
      ByteBuf arriving = Unpooled.buffer();
      for (int at = 0; at < all.writerIndex(); at += chunk) {
        arriving.writeBytes(all, at, Math.min(chunk, all.writerIndex() - at));
        PacketReader.read(arriving, version, notes);
      }
      assertThat(notes.notes).as("in pieces of %d", chunk).isEqualTo(expected);
      assertThat(arriving.isReadable()).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"10020000", "30ffffffff01", "36050001610001", "3000", "3003000561", "20010000", "9002000100", "200700000499000000", "e00100", "f000"})
  void aMalformedPacketIsAnError(String hex) {
    ByteBuf in = Unpooled.wrappedBuffer(HexFormat.of().parseHex(hex));

    assertThatThrownBy(() -> PacketReader.read(in, hex.startsWith("2007") ? Version.V5 : Version.V3_1_1, new Notes())).isInstanceOf(BadPacketException.class);
  }

  @Test
  void anAcknowledgementsReasonIsDecoded() {
    var notes = new Notes();

    PacketReader.read(Unpooled.wrappedBuffer(HexFormat.of().parseHex("400300059740020006")), Version.V5, notes);

    assertThat(notes.notes).containsExactly("ack 4 5 151", "ack 4 6 0");
  }
}
