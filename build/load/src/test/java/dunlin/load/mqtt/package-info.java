@NullMarked
package dunlin.load.mqtt;

import org.jspecify.annotations.NullMarked;
