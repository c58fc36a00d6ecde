package dunlin.bench.store;

import static java.util.Objects.requireNonNull;

import dunlin.bench.store.Rows.Row;
import dunlin.store.Completion;
import dunlin.store.StoreException;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientAsynchronousProtocol;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.RaftServerConfigKeys.Log;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** Peers of one group that only put rows from the log of Ratis into RocksDB. They show the cost of these two without the store. */
final class BarePeers implements AutoCloseable {
  /*
   * Owner: one thread proposes; Ratis' threads apply and complete.
   * Bounds: the load's window. Failure: the first entry that fails fails its rows, which ends the load.
   *
   * An entry holds rowsPerEntry rows, or fewer when no other entry is in flight, and is one write to RocksDB. The log is never
   * truncated, RocksDB alone decides when to flush, and peers do not report what they have applied. The other settings of Ratis
   * and RocksDB are the store's.
   */
  private static final int MIB = 1024 * 1024;
  private static final int ENTRY_BYTES_MAX = 4 * MIB;
  private static final int CACHE_BYTES = 256 * MIB;
  private static final int POSITION_BYTES = 2 * Long.BYTES;
  private static final byte[] POSITION_KEY = {};

  private final Path directory;
  private final RaftGroup group;
  private final List<RaftServer> servers = new ArrayList<>();
  private final ClientId client = ClientId.randomId();
  private final int rowsPerEntry;

  private @Nullable RaftServer leader; // set before anything is proposed
  private long calls; // guarded by this
  private List<Row> rows = new ArrayList<>(); // guarded by this
  private List<Completion<Boolean>> completions = new ArrayList<>(); // guarded by this
  private int entriesInFlight; // guarded by this

  /** @param ports one for each peer, of the loopback interface */
  BarePeers(Path directory, List<Integer> ports, int rowsPerEntry) {
    this.directory = directory.toAbsolutePath();
    this.rowsPerEntry = rowsPerEntry;
    var peers = new ArrayList<RaftPeer>();
    for (int port : ports)
      peers.add(RaftPeer.newBuilder().setId(RaftPeerId.valueOf("peer-" + port)).setAddress("127.0.0.1:" + port).build());
    group = RaftGroup.valueOf(RaftGroupId.valueOf(new UUID(0, 1)), peers);
    try {
      for (int i = 0; i < ports.size(); i++) start(peers.get(i), directory(i), ports.get(i));
    } catch (IOException e) {
      close();
      throw new StoreException("peers without the store do not start", e);
    }
  }

  private void start(RaftPeer peer, Path data, int port) throws IOException {
    var server =
        RaftServer.newBuilder()
            .setServerId(peer.getId())
            .setGroup(group)
            .setStateMachineRegistry(_ -> new Machine(data.resolve("rows")))
            .setProperties(properties(data, port))
            .setOption(RaftStorage.StartupOption.RECOVER)
            .build();
    servers.add(server);
    server.start();
  }

  private static RaftProperties properties(Path data, int port) {
    var properties = new RaftProperties();
    RaftServerConfigKeys.setStorageDir(properties, List.of(new File(data.toFile(), "raft")));
    RaftServerConfigKeys.Rpc.setTimeoutMin(properties, TimeDuration.valueOf(1000, TimeUnit.MILLISECONDS));
    RaftServerConfigKeys.Rpc.setTimeoutMax(properties, TimeDuration.valueOf(1500, TimeUnit.MILLISECONDS));
    Log.setSegmentSizeMax(properties, SizeInBytes.valueOf(8 * MIB));
    Log.setSegmentCacheNumMax(properties, 2);
    Log.setSegmentCacheSizeMax(properties, SizeInBytes.valueOf(16 * MIB));
    Log.setPreallocatedSize(properties, SizeInBytes.valueOf(MIB));
    Log.Appender.setBufferByteLimit(properties, SizeInBytes.valueOf(ENTRY_BYTES_MAX));
    Log.setWriteBufferSize(properties, SizeInBytes.valueOf(ENTRY_BYTES_MAX + MIB));
    Log.setLogMetadataEnabled(properties, false);
    Log.setAppendEntriesComposeEnabled(properties, false);
    Log.Appender.setWaitTimeMin(properties, TimeDuration.valueOf(0, TimeUnit.MILLISECONDS));
    RaftServerConfigKeys.RetryCache.setExpiryTime(properties, TimeDuration.valueOf(10, TimeUnit.SECONDS));
    GrpcConfigKeys.Server.setHost(properties, "127.0.0.1");
    GrpcConfigKeys.Server.setPort(properties, port);
    GrpcConfigKeys.setMessageSizeMax(properties, SizeInBytes.valueOf(ENTRY_BYTES_MAX + 2 * MIB));
    return properties;
  }

  /** Whether one of the peers is the leader now. */
  boolean leads() throws IOException {
    for (var server : servers) if (server.getDivision(group.getGroupId()).getInfo().isLeaderReady()) leader = server;
    return leader != null;
  }

  Path leaderDirectory() {
    return directory(servers.indexOf(leader));
  }

  private Path directory(int number) {
    return directory.resolve("node-" + number);
  }

  /** Adds a row to the next entry. See {@link Load.Target}. */
  boolean propose(Row row, Completion<Boolean> completion) {
    synchronized (this) {
      rows.add(row);
      completions.add(completion);
      if (rows.size() == rowsPerEntry || entriesInFlight == 0) submit(); // nothing else would submit the last rows of a load
    }
    return true;
  }

  /** Puts the collected rows into the log as one entry. */
  private synchronized void submit() {
    var server = leader;
    if (server == null) throw new StoreException("no peer of this process leads");
    var data = ByteBuffer.allocate(rows.size() * Rows.ROW_BYTES);
    for (var row : rows) data.put(row.key()).put(row.value());
    var waiting = completions;
    rows = new ArrayList<>(rowsPerEntry);
    completions = new ArrayList<>(rowsPerEntry);
    entriesInFlight++;
    var request =
        RaftClientRequest.newBuilder()
            .setClientId(client)
            .setServerId(server.getId())
            .setGroupId(group.getGroupId())
            .setCallId(++calls)
            .setType(RaftClientRequest.writeRequestType())
            .setMessage(Message.valueOf(UnsafeByteOperations.unsafeWrap(data.array())))
            .build();
    try {
      var division = (RaftClientAsynchronousProtocol) server.getDivision(group.getGroupId());
      var _ = division.submitClientRequestAsync(request).whenComplete((reply, e) -> ended(waiting, reply, e));
    } catch (IOException e) {
      ended(waiting, null, e);
    }
  }

  private void ended(List<Completion<Boolean>> waiting, @Nullable RaftClientReply reply, @Nullable Throwable e) {
    boolean done = e == null && reply != null && reply.isSuccess();
    for (var one : waiting) {
      if (done) one.done(true);
      else one.failed(new StoreException("an entry was not put into the log: " + (e == null ? reply : e)));
    }
    synchronized (this) {
      if (--entriesInFlight == 0 && !rows.isEmpty()) submit();
    }
  }

  @Override
  public void close() {
    for (var server : servers) {
      try {
        server.close();
      } catch (IOException e) {
        throw new StoreException("a peer does not end", e);
      }
    }
  }

  /** Puts the rows of each entry into RocksDB together with the entry's position. */
  private static final class Machine extends BaseStateMachine {
    private final Path directory;
    private final WriteOptions noLog;
    private final WriteBatch batch;
    private final LRUCache cache;
    private final BloomFilter filter;
    private final Options options;
    private @Nullable RocksDB db;

    Machine(Path directory) {
      this.directory = directory;
      RocksDB.loadLibrary();
      noLog = new WriteOptions().setDisableWAL(true);
      batch = new WriteBatch();
      cache = new LRUCache(CACHE_BYTES);
      filter = new BloomFilter(10);
      options =
          new Options()
              .setCreateIfMissing(true)
              .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache).setFilterPolicy(filter))
              .setWriteBufferSize(64 * MIB)
              .setMaxWriteBufferNumber(3)
              .setCompressionType(CompressionType.LZ4_COMPRESSION)
              .setTargetFileSizeBase(16 * MIB)
              .setMaxBytesForLevelBase(64 * MIB)
              .setMaxBackgroundJobs(3);
    }

    @Override
    public void initialize(RaftServer server, RaftGroupId id, RaftStorage storage) throws IOException {
      super.initialize(server, id, storage);
      Files.createDirectories(directory);
      try {
        db = RocksDB.open(options, directory.toString());
      } catch (RocksDBException e) {
        throw new IOException("no rows in " + directory, e);
      }
    }

    @Override
    public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
      LogEntryProto entry = requireNonNull(transaction.getLogEntry());
      var rows = entry.getStateMachineLogEntry().getLogData().asReadOnlyByteBuffer();
      byte[] key = new byte[Rows.KEY_BYTES];
      byte[] value = new byte[Rows.VALUE_BYTES];
      try {
        batch.clear();
        while (rows.hasRemaining()) {
          rows.get(key).get(value);
          batch.put(key, value);
        }
        batch.put(POSITION_KEY, ByteBuffer.allocate(POSITION_BYTES).putLong(entry.getTerm()).putLong(entry.getIndex()).array());
        var to = db;
        if (to == null) throw new IllegalStateException("not open");
        to.write(noLog, batch);
      } catch (RocksDBException e) {
        return CompletableFuture.failedFuture(e);
      }
      updateLastAppliedTermIndex(entry.getTerm(), entry.getIndex());
      return CompletableFuture.completedFuture(Message.EMPTY);
    }

    @Override
    public void close() throws IOException {
      super.close();
      batch.close();
      noLog.close();
      if (db != null) db.close();
      options.close();
      filter.close();
      cache.close();
    }
  }
}
