package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dunlin.model.ReasonCode;
import java.util.List;

/** What must be refused, and what must not. */
public final class Refusal {
  private Refusal() {}

  /** The last packet is refused for this reason, the ones before are handed over, and nothing of the refused one is. */
  static MalformedPacketException refused(ReasonCode reason, byte[]... packets) {
    return refused(DecoderLimits.defaults(), reason, packets);
  }

  static MalformedPacketException refused(DecoderLimits limits, ReasonCode reason, byte[]... packets) {
    var recorder = new Recorder();
    var decoder = new PacketDecoder(limits);
    var thrown =
        catchThrowableOfType(MalformedPacketException.class, () -> recorder.feed(decoder, packets));
    assertThat(thrown).as("refusal").isNotNull();
    assertThat(thrown.reason()).as(thrown.getMessage()).isEqualTo(reason);
    assertThat(thrown.getStackTrace()).isEmpty();
    assertThat(recorder.calls()).as("packets before: " + thrown.getMessage()).hasSize(packets.length - 1);
    return thrown;
  }

  /** Each of the packets is accepted; answers what the last was read as. */
  static Object accepted(byte[]... packets) {
    return accepted(DecoderLimits.defaults(), packets);
  }

  static Object accepted(DecoderLimits limits, byte[]... packets) {
    List<Object> calls = Recorder.decode(limits, packets);
    assertThat(calls).hasSize(packets.length);
    return calls.getLast();
  }
}
