package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.accepted;
import static dunlin.broker.codec.Refusal.refused;
import static dunlin.broker.codec.Wire.packet;
import static dunlin.broker.codec.Wire.properties;
import static dunlin.broker.codec.Wire.text;
import static dunlin.broker.codec.Wire.u16;
import static dunlin.model.ReasonCode.MALFORMED_PACKET;
import static dunlin.model.ReasonCode.PROTOCOL_ERROR;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every property identifier in every place where a client can send properties. */
class PropertyMatrixTest {
  /** MQTT 5, table 2-4, for clients. */
  enum Place {
    CONNECT(0x11, 0x15, 0x16, 0x17, 0x19, 0x21, 0x22, 0x26, 0x27),
    WILL(0x01, 0x02, 0x03, 0x08, 0x09, 0x18, 0x26),
    PUBLISH(0x01, 0x02, 0x03, 0x08, 0x09, 0x23, 0x26),
    PUBACK(0x1F, 0x26),
    PUBREC(0x1F, 0x26),
    PUBREL(0x1F, 0x26),
    PUBCOMP(0x1F, 0x26),
    SUBSCRIBE(0x0B, 0x26),
    UNSUBSCRIBE(0x26),
    DISCONNECT(0x11, 0x1F, 0x26),
    AUTH(0x15, 0x16, 0x1F, 0x26);

    private final long allowed;

    Place(int... allowed) {
      this.allowed = IntStream.of(allowed).mapToLong(id -> 1L << id).sum();
    }

    boolean allows(int id) {
      return id < 64 && (allowed & (1L << id)) != 0;
    }

    int[] allowed() {
      return IntStream.range(0, 64).filter(this::allows).toArray();
    }

    /** The packets of a connection up to the one with these properties, which already include their length. */
    byte[][] packets(byte[] properties) {
      byte[] connect = packet(0x10, text("MQTT"), 5, 2, u16(60), properties(), "c");
      return switch (this) {
        case CONNECT -> new byte[][] {packet(0x10, text("MQTT"), 5, 2, u16(60), properties, "c")};
        case WILL -> new byte[][] {packet(0x10, text("MQTT"), 5, 6, u16(60), properties(), "c", properties, "t", "p")};
        case PUBLISH -> new byte[][] {connect, packet(0x30, "t", properties, 'x')};
        case PUBACK -> new byte[][] {connect, packet(0x40, u16(1), 0, properties)};
        case PUBREC -> new byte[][] {connect, packet(0x50, u16(1), 0, properties)};
        case PUBREL -> new byte[][] {connect, packet(0x62, u16(1), 0, properties)};
        case PUBCOMP -> new byte[][] {connect, packet(0x70, u16(1), 0, properties)};
        case SUBSCRIBE -> new byte[][] {connect, packet(0x82, u16(1), properties, "f", 0)};
        case UNSUBSCRIBE -> new byte[][] {connect, packet(0xA2, u16(1), properties, "f")};
        case DISCONNECT -> new byte[][] {connect, packet(0xE0, 0, properties)};
        case AUTH -> new byte[][] {connect, packet(0xF0, 0x18, properties)};
      };
    }
  }

  private static byte[] sample(int id) {
    return switch (id) {
      case 0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A -> Wire.bytes(id, 1);
      case 0x13, 0x21, 0x22, 0x23 -> Wire.bytes(id, u16(1));
      case 0x02, 0x11, 0x18, 0x27 -> Wire.bytes(id, Wire.u32(1));
      case 0x0B -> Wire.bytes(id, 1);
      case 0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F -> Wire.bytes(id, "text");
      case 0x09, 0x16 -> Wire.bytes(id, "data");
      case 0x26 -> Wire.bytes(id, "name", "value");
      default -> Wire.bytes(id, 0, 0, 0, 0);
    };
  }

  /** Further properties that the packet must have to be valid with this one. */
  private static byte[] company(Place place, int id) {
    boolean needsMethod = (place == Place.AUTH && id != 0x15) || id == 0x16;
    return needsMethod ? sample(0x15) : new byte[0];
  }

  @ParameterizedTest
  @EnumSource
  @Tag("MQTT-3.3.4-6")
  void onlyPropertiesOfThePacketTypeAreAccepted(Place place) {
    for (int id = 0; id < 256; id++) {
      byte[][] packets = place.packets(properties(sample(id), company(place, id)));
      boolean serversOwn =
          (place == Place.PUBLISH && id == 0x0B) || (place == Place.DISCONNECT && id == 0x1C);
      if (place.allows(id)) accepted(packets);
      else refused(serversOwn ? PROTOCOL_ERROR : MALFORMED_PACKET, packets);
    }
  }

  @ParameterizedTest
  @Tag("pitfall-13")
  @EnumSource
  void onlyUserPropertiesMayRepeat(Place place) {
    for (int id : place.allowed()) {
      byte[][] packets = place.packets(properties(sample(id), company(place, id), sample(id)));
      if (id == 0x26) accepted(packets);
      else refused(PROTOCOL_ERROR, packets);
    }
  }

  @ParameterizedTest
  @EnumSource
  void valuesAreWhole(Place place) {
    for (int id : place.allowed()) {
      byte[] whole = sample(id);
      for (int length = 1; length < whole.length; length++) {
        refused(MALFORMED_PACKET, place.packets(properties(company(place, id), Arrays.copyOf(whole, length))));
      }
    }
  }

  @ParameterizedTest
  @Tag("pitfall-30")
  @EnumSource
  @Tag("MQTT-1.5.5-1")
  @Tag("MQTT-2.2.2-1")
  void lengthOfPropertiesIsMinimalAndWithinThePacket(Place place) {
    byte[] none = place == Place.AUTH ? sample(0x15) : new byte[0];
    accepted(place.packets(Wire.join(new byte[] {(byte) none.length}, none)));
    refused(MALFORMED_PACKET, place.packets(Wire.join(new byte[] {(byte) (none.length | 0x80), 0}, none)));
    refused(MALFORMED_PACKET, place.packets(Wire.join(new byte[] {(byte) (none.length | 0x80), (byte) 0x80, 0}, none)));
    refused(MALFORMED_PACKET, place.packets(Wire.bytes(0xFF, 0xFF, 0xFF, 0xFF, 0x01)));
    refused(MALFORMED_PACKET, place.packets(Wire.bytes(0x80, 0x80, 0x80, 0x80, 0x80)));
    refused(MALFORMED_PACKET, place.packets(Wire.bytes(0xFF, 0xFF, 0xFF, 0x7F)));
    refused(MALFORMED_PACKET, place.packets(Wire.bytes(0x7F)));
  }

  @ParameterizedTest
  @Tag("pitfall-32")
  @EnumSource
  @Tag("MQTT-1.5.4-1")
  @Tag("MQTT-1.5.4-2")
  @Tag("MQTT-1.5.7-1")
  @Tag("MQTT-3.3.2-13")
  @Tag("MQTT-3.3.2-19")
  void textsAreCheckedEverywhere(Place place) {
    for (int id : place.allowed()) {
      boolean text =
          switch (id) {
            case 0x03, 0x08, 0x15, 0x1F -> true;
            default -> false;
          };
      byte[] nul = {0, 1, 0};
      byte[] surrogate = {0, 3, (byte) 0xED, (byte) 0xA0, (byte) 0x80};
      for (byte[] bad : new byte[][] {nul, surrogate}) {
        if (text) refused(MALFORMED_PACKET, place.packets(properties(id, bad)));
        if (id == 0x26) {
          refused(MALFORMED_PACKET, place.packets(properties(id, "k", bad)));
          refused(MALFORMED_PACKET, place.packets(properties(id, bad, "v")));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void identifierInTwoBytesIsMalformed(Place place) {
    refused(MALFORMED_PACKET, place.packets(properties(0xA6, 0x00, "k", "v")));
  }
}
