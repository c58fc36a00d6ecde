/** MQTT 3.1.1 and 5.0 for clients: reads and writes packets in Netty's buffers without an object per packet. */
@NullMarked
package dunlin.load.mqtt;

import org.jspecify.annotations.NullMarked;
