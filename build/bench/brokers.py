"""What the programs here share: where things are, workloads and the load generator, a broker that runs, and what is said of the machine."""
import datetime
import json
import os
import platform
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
JVM = ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-XX:+UseCompactObjectHeaders",
       "-XX:+ExitOnOutOfMemoryError"]
SETTLE_SECONDS = 2
START_SECONDS_MAX = 120
ASK_SECONDS_MAX = 30
LOAD_SECONDS_MAX = 400

# Scenarios of the load generator that have no time of their own, and those with publishers and subscribers who may be at different brokers.
WITHOUT_TIME = ("subscribe", "persist", "retain")
BETWEEN_CLIENTS = ("oneone", "fanout", "fanin")

# Name, short description, scenario with its options. The time of a run is added unless the scenario has none.
WORKLOADS = [
    ("oneone-0", "one-to-one, 50 pairs, QoS 0", "oneone -n 50 --qos 0"),
    ("oneone-1", "one-to-one, 50 pairs, QoS 1", "oneone -n 50 --qos 1"),
    ("fanout-0", "broadcast, 5 publishers to 100 subscribers each, QoS 0", "fanout --groups 5 --pubs 1 --subs 100"),
    ("fanin-0", "shared group, 200 publishers to 8 members, QoS 0", "fanin --pubs 200 --subs 8 --qos 0"),
    ("fanin-1", "shared group, 200 publishers to 8 members, QoS 1", "fanin --pubs 200 --subs 8 --qos 1"),
    ("fanin-5000", "shared group, 5,000 publishers to 8 members, QoS 0", "fanin --pubs 5000 --subs 8 --qos 0"),
    ("fanin-400", "shared group, 1,000 publishers to 400 members, QoS 0", "fanin --pubs 1000 --subs 400 --qos 0"),
    ("subscribe", "1,000 clients subscribe to a wildcard each", "subscribe -c 1000 --probe 100"),
    ("durable-1", "200 absent sessions, 500 messages of QoS 1 for each, published", "persist -s 200 -m 500"),
]


def java():
    script = f'. "{ROOT}/build/dunlin/src/main/dist/bin/dunlin-env.sh"; dunlin_find_java run && echo "$DUNLIN_FOUND_JAVA_HOME"'
    found = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        sys.exit(1)
    return os.path.join(found.stdout.strip(), "bin", "java")


def class_path():
    target = os.path.join(ROOT, "build", "bench", "target")
    made = os.path.join(target, "class-path")
    if not os.path.exists(made):
        sys.exit("The benchmarks are not built yet: mvn -q -pl build/bench -am package -DskipTests")
    with open(made) as path:
        return os.path.join(target, "classes") + os.pathsep + path.read().strip()


def loaded(line):
    """What a load generator has measured."""
    done = subprocess.run(line, capture_output=True, text=True, timeout=LOAD_SECONDS_MAX, stdin=subprocess.DEVNULL)
    results = [text for text in done.stdout.splitlines() if text.startswith("{")]
    if not results:
        raise RuntimeError(f"no result of {' '.join(line)}: {done.stderr.strip()[-300:]}")
    return json.loads(results[-1])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
        return True
    except OSError:
        return False


class Broker:
    """A running broker, in a temporary directory."""

    def __init__(self, name, command, options=()):
        self.name, self.command, self.options = name, command, options
        self.process = None

    def __enter__(self):
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="compare-")
        if self.command is None:
            self.process = self.start_dunlin()
            self.pid = self.process.pid
            try:
                self.await_port()
            except BaseException:
                self.__exit__()
                raise
        else:
            line = shlex.split(self.command) + [str(self.port), os.path.join(self.directory, "peer")]
            done = subprocess.run(line, capture_output=True, text=True, timeout=START_SECONDS_MAX, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise RuntimeError(f"{self.name} does not start: {done.stderr.strip()[-300:]}")
            self.pid = int(done.stdout.split()[-1])
        # A JVM is busy for a while after its port is open. All brokers get the same time for this, in addition to the wait of their scripts.
        time.sleep(SETTLE_SECONDS)
        return self

    def start_dunlin(self):
        self.log = os.path.join(self.directory, "log")
        with open(self.log, "w") as log:
            return subprocess.Popen(
                [os.path.join(distribution(), "bin", "dunlin"), f"-Ddunlin.data-dir={self.directory}/data",
                 f"-Ddunlin.listeners.tcp.port={self.port}", "-Ddunlin.admin.port=-1", *self.options],
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def await_port(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.log) as log:
                    raise RuntimeError(f"{self.name} does not start: {log.read().strip()[-300:]}")
            time.sleep(0.1)

    def target(self, scenario):
        """Where the load goes, and whose CPU time counts."""
        return ["--target", f"127.0.0.1:{self.port}", "--broker-pid", str(self.pid)], []

    def access(self):
        """Address and token of the admin API, which needs the option -Ddunlin.admin.port=0."""
        with open(os.path.join(self.directory, "data", "admin-access")) as access:
            return access.read().split()

    def ask(self, method, path, body=None):
        address, token = self.access()
        request = urllib.request.Request(
            address + "/api/v1" + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=ASK_SECONDS_MAX) as answer:
                return json.load(answer)
        except OSError as failure:
            raise RuntimeError(f"{method} {path}: {failure}") from failure

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGTERM)
        except (ProcessLookupError, AttributeError):
            pass
        if self.process is not None:
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        else:
            deadline = time.monotonic() + 15
            while time.monotonic() < deadline and os.path.exists(f"/proc/{getattr(self, 'pid', 0)}/stat"):
                time.sleep(0.2)
        shutil.rmtree(self.directory, ignore_errors=True)

    def check(self):
        """Fails when a run has not measured what it says."""


class Cluster:
    """Processes of Dunlin that are one broker. Publishers connect to the first frontend, and subscribers to the second if there is one."""

    def __init__(self, name, roles=("", "", ""), options=()):
        """`roles` has the value of dunlin.roles of each process; empty for all roles."""
        self.name = name
        service, raft = ([free_port() for _ in roles] for _ in range(2))
        seeds = [port for port, own in zip(service, roles) if not own or "store" in own]
        common = ["-Ddunlin.cluster.seeds=" + ",".join(f"127.0.0.1:{port}" for port in seeds), f"-Ddunlin.cluster.bootstrap-expect={len(seeds)}", *options]
        self.nodes = [
            Broker(name, None, [*common, f"-Ddunlin.cluster.service-port={service[i]}", f"-Ddunlin.cluster.port={raft[i]}",
                                *([f"-Ddunlin.roles={own}"] if own else [])])
            for i, own in enumerate(roles)]
        for node, own in zip(self.nodes, roles):
            node.roles = own
        self.frontends = [node for node in self.nodes if not node.roles or "frontend" in node.roles]

    def __enter__(self):
        try:
            for node in self.nodes:
                node.port, node.directory = free_port(), tempfile.mkdtemp(prefix="compare-")
                node.process = node.start_dunlin()
                node.pid = node.process.pid
            for node in self.frontends:
                node.await_port()
            self.settle()
        except BaseException:
            self.__exit__()
            raise
        time.sleep(SETTLE_SECONDS)
        return self

    def settle(self):
        """Waits until clients are served as they will be; they are when the port is open."""

    def __exit__(self, *raised):
        for node in self.nodes:
            if node.process is not None:
                node.process.terminate()
        for node in self.nodes:
            if node.process is not None:
                node.__exit__(*raised)

    def target(self, scenario):
        at = [f"127.0.0.1:{node.port}" for node in self.frontends]
        apart = ["--pub-target", "0", "--sub-target", "1"] if scenario in BETWEEN_CLIENTS and len(at) > 1 else []
        return ["--target", ",".join(at), "--broker-pid", ",".join(str(node.pid) for node in self.nodes)], apart

    def check(self):
        """See Broker."""


def machine():
    model = "unknown"
    with open("/proc/cpuinfo") as info:
        for text in info:
            if text.startswith("model name"):
                model = text.split(":", 1)[1].strip()
                break
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(["git", "-C", ROOT, "status", "--porcelain", "-uno"], capture_output=True, text=True).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit + (" with changes" if changed else ""),
        "cpu": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
    }


def distribution():
    target = os.path.join(ROOT, "build", "dunlin", "target")
    found = [d for d in sorted(os.listdir(target)) if os.path.exists(os.path.join(target, d, "bin", "dunlin"))] if os.path.isdir(target) else []
    if not found:
        sys.exit("There is no distribution yet; build one: mvn -B -Dmaven.test.skip=true package")
    return os.path.join(target, found[-1])
