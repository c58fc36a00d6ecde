@NullMarked
package dunlin.chaos.history;

import org.jspecify.annotations.NullMarked;
