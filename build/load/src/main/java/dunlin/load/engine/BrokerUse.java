package dunlin.load.engine;

/** What the broker's process took, when it runs on this machine: CPU-seconds of the whole run, and memory at its end. */
public record BrokerUse(long pid, double cpuSeconds, long residentBytesBefore, long residentBytesAfter) {}
