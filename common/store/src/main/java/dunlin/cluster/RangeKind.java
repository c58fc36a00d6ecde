package dunlin.cluster;

import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.Replica;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What this node needs to know of a kind of ranges to have replicas of them: they come and go while it runs.
 *
 * @param name a short lower-case word; a node that knows the kind has it among its roles
 * @param logic makes the logic of a replica that is about to be opened
 * @param opened is told each replica, before it has started
 */
public record RangeKind<C, R>(
    String name, CommandCodec<C> codec, Function<RangeId, RangeLogic<C, R>> logic, Consumer<Replica<C, R>> opened) {}
