package dunlin.inbox.between;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A range without sessions, groups and transfers, for tests that say otherwise where they need to. */
public class QuietRange implements OtherRange {
  @Override
  public CompletableFuture<Sums> sums() {
    return CompletableFuture.completedFuture(Sums.NONE);
  }

  @Override
  public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
    return CompletableFuture.completedFuture(sessions.stream().map(_ -> true).toList());
  }

  @Override
  public CompletableFuture<List<Held>> held(List<String> tenants) {
    return CompletableFuture.completedFuture(tenants.stream().map(_ -> Held.NONE).toList());
  }

  @Override
  public CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups) {
    return CompletableFuture.completedFuture(groups.stream().map(_ -> GroupPart.NONE).toList());
  }

  @Override
  public CompletableFuture<List<Boolean>> over(List<SetAside> numbers) {
    return CompletableFuture.completedFuture(numbers.stream().map(_ -> false).toList());
  }

  @Override
  public CompletableFuture<Taken> store(SessionCommand messages) {
    return CompletableFuture.completedFuture(Taken.NO);
  }

  @Override
  public CompletableFuture<Picked> pick(SessionCommand.PickForGroup pick) {
    return CompletableFuture.completedFuture(new Picked(0, 0));
  }
}
