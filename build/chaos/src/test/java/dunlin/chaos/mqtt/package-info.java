@NullMarked
package dunlin.chaos.mqtt;

import org.jspecify.annotations.NullMarked;
