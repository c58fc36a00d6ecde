@NullMarked
package dunlin.chaos.attack;

import org.jspecify.annotations.NullMarked;
