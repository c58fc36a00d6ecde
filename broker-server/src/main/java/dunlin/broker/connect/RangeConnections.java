package dunlin.broker.connect;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.KeptConnections;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The connections of a frontend, as the leader of one range of sessions calls and compares them.
 *
 * @param range its number; a comparison concerns the connections to sessions of this range alone
 */
record RangeConnections(Reception reception, int range) implements KeptConnections {
  @Override
  public void comparing() {
    for (LoopConnections part : reception.parts()) part.loop().post(part.comparison(range)::begin);
  }

  @Override
  public CompletableFuture<List<Long>> missing(List<Owner> owners) {
    return reception.missing(range, owners);
  }

  @Override
  public void compared() {
    for (LoopConnections part : reception.parts()) part.loop().post(part.comparison(range)::end);
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    reception.push(connection, message);
  }

  @Override
  public void behind(ConnectionId connection) {
    reception.behind(connection);
  }

  @Override
  public void displaced(ConnectionId connection) {
    reception.displaced(connection);
  }

  @Override
  public void dismissed(ConnectionId connection) {
    reception.dismissed(connection);
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    return reception.settled(connection);
  }
}
