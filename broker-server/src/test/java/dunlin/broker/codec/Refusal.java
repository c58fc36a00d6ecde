package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dunlin.model.ReasonCode;
import java.util.List;

/** Asserts that packets are refused or accepted. */
public final class Refusal {
  private Refusal() {}

  /**
   * Asserts that the last packet is refused for this reason, that the ones before are handed over, and that nothing of
   * the refused one is.
   */
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

  /** Asserts that each packet is accepted; answers what was read for the last one. */
  static Object accepted(byte[]... packets) {
    return accepted(DecoderLimits.defaults(), packets);
  }

  static Object accepted(DecoderLimits limits, byte[]... packets) {
    List<Object> calls = Recorder.decode(limits, packets);
    assertThat(calls).hasSize(packets.length);
    return calls.getLast();
  }
}
