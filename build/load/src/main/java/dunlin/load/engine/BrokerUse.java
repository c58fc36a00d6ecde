package dunlin.load.engine;

/** Resources that the broker's process used, when it runs on this machine: CPU-seconds during the run, and memory before and after it. */
public record BrokerUse(long pid, double cpuSeconds, long residentBytesBefore, long residentBytesAfter) {}
