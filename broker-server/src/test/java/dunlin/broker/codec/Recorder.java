package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;

/** Records each call of a decoder as a {@link Packet} or {@link Publish}. */
final class Recorder implements PacketHandler {
  private final List<Object> calls = new ArrayList<>();

  /** Everything that a decoder reads from these bytes, delivered at once. */
  static List<Object> decode(DecoderLimits limits, byte[]... parts) {
    var recorder = new Recorder();
    recorder.feed(new PacketDecoder(limits), parts);
    return recorder.calls;
  }

  void feed(PacketDecoder decoder, byte[]... parts) {
    ByteBuf in = Unpooled.wrappedBuffer(Wire.join(parts));
    try {
      int before;
      do before = in.readerIndex();
      while (decoder.decode(in, this));
      assertThat(in.readerIndex()).as("reader index without a packet").isEqualTo(before);
    } finally {
      assertThat(in.refCnt()).as("owners of the buffer").isEqualTo(1);
      in.release();
    }
  }

  List<Object> calls() {
    return calls;
  }

  List<String> described() {
    return calls.stream().map(Described::of).toList();
  }

  @Override
  public void onConnect(Packet.Connect packet) {
    calls.add(packet);
  }

  @Override
  public void onPublish(InboundPublish publish) {
    calls.add(Publish.of(publish));
  }

  @Override
  public void onPuback(int packetId, ReasonCode reason) {
    calls.add(new Packet.Puback(packetId, reason, null, List.of()));
  }

  @Override
  public void onPubrec(int packetId, ReasonCode reason) {
    calls.add(new Packet.Pubrec(packetId, reason, null, List.of()));
  }

  @Override
  public void onPubrel(int packetId, ReasonCode reason) {
    calls.add(new Packet.Pubrel(packetId, reason, null, List.of()));
  }

  @Override
  public void onPubcomp(int packetId, ReasonCode reason) {
    calls.add(new Packet.Pubcomp(packetId, reason, null, List.of()));
  }

  @Override
  public void onSubscribe(Packet.Subscribe packet) {
    calls.add(packet);
  }

  @Override
  public void onUnsubscribe(Packet.Unsubscribe packet) {
    calls.add(packet);
  }

  @Override
  public void onPingreq() {
    calls.add(new Packet.Pingreq());
  }

  @Override
  public void onDisconnect(Packet.Disconnect packet) {
    calls.add(packet);
  }

  @Override
  public void onAuth(Packet.Auth packet) {
    calls.add(packet);
  }
}
