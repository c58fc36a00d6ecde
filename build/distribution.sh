# For scripts of this folder, with root set to the repository's: finds the distribution, or builds it; and a port for a broker. Sourced, not run.
. "$root/build/dunlin/src/main/dist/bin/dunlin-env.sh"

# The newest archive; the last thing that a build makes.
newest_archive() {
  ls -t "$root"/build/dunlin/target/dunlin-*.tar.gz 2>/dev/null | head -n 1 || true
}

# Whether a module's main sources or a POM have changed since the archive was made.
is_outdated() {
  [ -n "$(find "$root" \
    -name target -prune -o -name .git -prune -o -path "$root/data" -prune -o \
    -type f \( -path '*/src/main/*' -o -name pom.xml \) -newer "$1" -print -quit)" ]
}

# build_modules LIST: packages modules, given as Maven wants them, and what they need.
build_modules() {
  dunlin_find_java build || exit 1
  if ! command -v mvn >/dev/null; then
    echo "Building Dunlin needs Maven 3.8 or later, and there is no mvn on PATH." >&2
    exit 1
  fi
  echo "Building Dunlin; this takes a minute or two the first time." >&2
  # The flags keep Maven's own libraries from warning about themselves on this JDK.
  JAVA_HOME=$DUNLIN_FOUND_JAVA_HOME \
    MAVEN_OPTS="--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow ${MAVEN_OPTS:-}" \
    mvn -q -B -Dstyle.color=never -Dmaven.test.skip=true -f "$root/pom.xml" -pl "$1" -am package >&2 || {
    echo "Dunlin was not built; see the messages above." >&2
    exit 1
  }
}

# one_build_at_a_time COMMAND ...: runs it while no other script does so, where there is flock. Two builds at once would break each other.
one_build_at_a_time() {
  if command -v flock >/dev/null; then
    mkdir -p "$root/build/dunlin/target"
    exec 9>"$root/build/dunlin/target/build.lock"
    flock -n 9 || { echo "Waiting for another build of Dunlin." >&2; flock 9; }
    "$@"
    exec 9>&-
  else
    "$@"
  fi
}

# find_distribution LIST: sets dist, after building the modules when there is none or it is older than a source.
find_distribution() {
  archive=$(newest_archive)
  if [ -z "$archive" ] || [ ! -x "${archive%.tar.gz}/bin/dunlin" ] || is_outdated "$archive"; then
    build_modules "$1"
    archive=$(newest_archive)
  fi
  dist=${archive%.tar.gz}
}

# train_distribution: makes the cache with which brokers start in half the time and are at their speed sooner, once for each build. Without it they run just as well.
# After find_distribution.
train_distribution() {
  if [ "$archive" -nt "$dist/lib/dunlin.aot" ] && [ "$archive" -nt "$dist/lib/dunlin.aot.failed" ]; then
    echo "Preparing a faster start." >&2
    "$dist/bin/dunlin-train" >/dev/null 2>"$dist/lib/dunlin.aot.failed" && rm -f "$dist/lib/dunlin.aot.failed" || true
  fi
}

# listens PORT: whether somebody listens there on loopback.
listens() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM))
    listens $port || break
  done
  echo $port
}
