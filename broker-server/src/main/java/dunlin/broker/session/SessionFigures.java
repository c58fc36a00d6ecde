package dunlin.broker.session;

/**
 * What a live session holds at one moment, for operators.
 *
 * @param receiveMaximum messages of QoS 1 and 2 that may be in flight to its client
 * @param inFlight those that are
 * @param queued messages of QoS 1 and 2 that wait for it on this node
 * @param queuedBytes bytes of these messages
 * @param heldBytes bytes of both, as the node's budget counts them
 * @param receiving publishes of its client with QoS 1 and 2 that are not acknowledged
 * @param unreleased packet identifiers of QoS 2 publishes that its client has not released
 * @param oldestMillis time since the oldest message was accepted that waits for it or is in flight to it; 0 without any
 * @param published publishes of its client so far; like {@code sent} it may wrap around, so only differences mean something
 * @param sent messages that its client was sent so far
 */
public record SessionFigures(
    int subscriptions, int receiveMaximum, int inFlight, int queued, long queuedBytes, long heldBytes, int receiving, int unreleased,
    long oldestMillis, int published, int sent) {}
