package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A control packet other than PUBLISH, of either direction and any protocol version; MQTT 5, chapter 3.
 *
 * <p>Properties are typed components. An absent property is null, -1, or the value that its absence stands for.
 */
public sealed interface Packet {

  /**
   * CONNECT.
   *
   * @param cleanStart Clean Start, or MQTT 3's Clean Session
   * @param keepAliveSeconds 0 for none
   * @param clientId empty if the server has to choose one
   * @param sessionExpirySeconds 0 to 4,294,967,295 as in the packet, -1 if absent
   * @param receiveMaximum 1 to 65,535
   * @param maximumPacketSize the largest packet that the client accepts, 0 for no limit
   * @param topicAliasMaximum the highest topic alias that the client accepts, 0 for none
   */
  record Connect(
      ProtocolVersion version,
      boolean cleanStart,
      int keepAliveSeconds,
      String clientId,
      long sessionExpirySeconds,
      int receiveMaximum,
      long maximumPacketSize,
      int topicAliasMaximum,
      boolean requestResponseInformation,
      boolean requestProblemInformation,
      @Nullable String authenticationMethod,
      byte @Nullable [] authenticationData,
      @Nullable String userName,
      byte @Nullable [] password,
      List<UserProperty> userProperties,
      @Nullable Will will)
      implements Packet {
    public Connect {
      userProperties = List.copyOf(userProperties);
    }

    /** A CONNECT with only the required fields. */
    public static Connect of(ProtocolVersion version, boolean cleanStart, int keepAliveSeconds, String clientId) {
      return new Connect(
          version, cleanStart, keepAliveSeconds, clientId, -1, 65_535, 0, 0, false, true, null, null, null, null, List.of(),
          null);
    }
  }

  /**
   * CONNACK.
   *
   * @param sessionExpirySeconds -1 for the value that the client requested
   * @param receiveMaximum 65,535 unless the server accepts less
   * @param maximumPacketSize 0 for no limit
   * @param serverKeepAliveSeconds -1 for the value that the client requested
   */
  record Connack(
      boolean sessionPresent,
      ReasonCode reason,
      long sessionExpirySeconds,
      int receiveMaximum,
      QoS maximumQoS,
      boolean retainAvailable,
      long maximumPacketSize,
      @Nullable String assignedClientIdentifier,
      int topicAliasMaximum,
      @Nullable String reasonString,
      List<UserProperty> userProperties,
      boolean wildcardSubscriptionAvailable,
      boolean subscriptionIdentifiersAvailable,
      boolean sharedSubscriptionAvailable,
      int serverKeepAliveSeconds,
      @Nullable String responseInformation,
      @Nullable String serverReference,
      @Nullable String authenticationMethod,
      byte @Nullable [] authenticationData)
      implements Packet {
    public Connack {
      if (sessionPresent && reason.isError()) {
        throw new IllegalArgumentException("session present with " + reason); // [MQTT-3.2.2-6]
      }
      userProperties = List.copyOf(userProperties);
    }

    /** A refusal with only a reason. */
    public static Connack refused(ReasonCode reason, @Nullable String reasonString) {
      return refused(reason, reasonString, null);
    }

    /** A refusal that names another server to use. */
    public static Connack refused(ReasonCode reason, @Nullable String reasonString, @Nullable String serverReference) {
      return plain(false, reason, reasonString, serverReference);
    }

    /** An acceptance with the specification's default for every property. */
    public static Connack accepted(boolean sessionPresent) {
      return plain(sessionPresent, ReasonCode.SUCCESS, null, null);
    }

    private static Connack plain(
        boolean sessionPresent, ReasonCode reason, @Nullable String reasonString, @Nullable String serverReference) {
      return new Connack(
          sessionPresent, reason, -1, 65_535, QoS.EXACTLY_ONCE, true, 0, null, 0, reasonString, List.of(), true, true, true, -1,
          null, serverReference, null, null);
    }
  }

  /** PUBACK. */
  record Puback(int packetId, ReasonCode reason, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Puback {
      userProperties = List.copyOf(userProperties);
    }
  }

  /** PUBREC. */
  record Pubrec(int packetId, ReasonCode reason, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Pubrec {
      userProperties = List.copyOf(userProperties);
    }
  }

  /** PUBREL. */
  record Pubrel(int packetId, ReasonCode reason, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Pubrel {
      userProperties = List.copyOf(userProperties);
    }
  }

  /** PUBCOMP. */
  record Pubcomp(int packetId, ReasonCode reason, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Pubcomp {
      userProperties = List.copyOf(userProperties);
    }
  }

  /** SUBSCRIBE; every subscription's options carry the packet's subscription identifier. */
  record Subscribe(int packetId, List<RequestedSubscription> subscriptions, List<UserProperty> userProperties) implements Packet {
    public Subscribe {
      subscriptions = List.copyOf(subscriptions);
      userProperties = List.copyOf(userProperties);
      int identifier = subscriptions.getFirst().options().subscriptionIdentifier();
      for (RequestedSubscription subscription : subscriptions) {
        if (subscription.options().subscriptionIdentifier() != identifier) {
          throw new IllegalArgumentException("subscription identifiers differ in one SUBSCRIBE");
        }
      }
    }

    /** 1 to 268,435,455, or 0 for none. */
    public int subscriptionIdentifier() {
      return subscriptions.getFirst().options().subscriptionIdentifier();
    }
  }

  /** SUBACK; one reason code for each subscription of the SUBSCRIBE, in the same order [MQTT-3.9.3-1]. */
  record Suback(int packetId, List<ReasonCode> reasons, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Suback {
      reasons = List.copyOf(reasons);
      userProperties = List.copyOf(userProperties);
    }
  }

  /** UNSUBSCRIBE; filters as the client spells them. */
  record Unsubscribe(int packetId, List<String> filters, List<UserProperty> userProperties) implements Packet {
    public Unsubscribe {
      filters = List.copyOf(filters);
      userProperties = List.copyOf(userProperties);
    }
  }

  /** UNSUBACK; in MQTT 3 without reason codes. */
  record Unsuback(int packetId, List<ReasonCode> reasons, @Nullable String reasonString, List<UserProperty> userProperties)
      implements Packet {
    public Unsuback {
      reasons = List.copyOf(reasons);
      userProperties = List.copyOf(userProperties);
    }
  }

  /** PINGREQ. */
  record Pingreq() implements Packet {}

  /** PINGRESP. */
  record Pingresp() implements Packet {}

  /**
   * DISCONNECT; in MQTT 3 only from the client, with reason SUCCESS.
   *
   * @param sessionExpirySeconds the client's new Session Expiry Interval, -1 for the one in force
   * @param serverReference another server to use; only sent by the server
   */
  record Disconnect(
      ReasonCode reason,
      long sessionExpirySeconds,
      @Nullable String reasonString,
      @Nullable String serverReference,
      List<UserProperty> userProperties)
      implements Packet {
    public Disconnect {
      userProperties = List.copyOf(userProperties);
    }

    /** A DISCONNECT with only a reason. */
    public static Disconnect of(ReasonCode reason, @Nullable String reasonString) {
      return new Disconnect(reason, -1, reasonString, null, List.of());
    }
  }

  /** AUTH, only in MQTT 5. */
  record Auth(
      ReasonCode reason,
      String authenticationMethod,
      byte @Nullable [] authenticationData,
      @Nullable String reasonString,
      List<UserProperty> userProperties)
      implements Packet {
    public Auth {
      userProperties = List.copyOf(userProperties);
    }
  }

  /**
   * A copy without user properties, and without the reason string unless {@code keepReasonString}: for a client whose
   * Maximum Packet Size they exceed, or that requested no problem information. Packets without both are returned
   * unchanged.
   */
  default Packet withoutProblemInformation(boolean keepReasonString) {
    return switch (this) {
      case Connack p ->
          new Connack(
              p.sessionPresent, p.reason, p.sessionExpirySeconds, p.receiveMaximum, p.maximumQoS, p.retainAvailable,
              p.maximumPacketSize, p.assignedClientIdentifier, p.topicAliasMaximum, keepReasonString ? p.reasonString : null,
              List.of(), p.wildcardSubscriptionAvailable, p.subscriptionIdentifiersAvailable, p.sharedSubscriptionAvailable,
              p.serverKeepAliveSeconds, p.responseInformation, p.serverReference, p.authenticationMethod,
              p.authenticationData);
      case Puback p -> new Puback(p.packetId, p.reason, keepReasonString ? p.reasonString : null, List.of());
      case Pubrec p -> new Pubrec(p.packetId, p.reason, keepReasonString ? p.reasonString : null, List.of());
      case Pubrel p -> new Pubrel(p.packetId, p.reason, keepReasonString ? p.reasonString : null, List.of());
      case Pubcomp p -> new Pubcomp(p.packetId, p.reason, keepReasonString ? p.reasonString : null, List.of());
      case Suback p -> new Suback(p.packetId, p.reasons, keepReasonString ? p.reasonString : null, List.of());
      case Unsuback p -> new Unsuback(p.packetId, p.reasons, keepReasonString ? p.reasonString : null, List.of());
      case Disconnect p ->
          new Disconnect(
              p.reason, p.sessionExpirySeconds, keepReasonString ? p.reasonString : null, p.serverReference, List.of());
      case Auth p ->
          new Auth(
              p.reason, p.authenticationMethod, p.authenticationData, keepReasonString ? p.reasonString : null, List.of());
      case Connect p -> p;
      case Subscribe p -> p;
      case Unsubscribe p -> p;
      case Pingreq p -> p;
      case Pingresp p -> p;
    };
  }
}
