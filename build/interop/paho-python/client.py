"""The scenario of ../README.md through paho-mqtt: client.py HOST PORT VERSION TRANSPORT"""

import contextlib
import os
import queue
import socket
import sys
import threading
import uuid

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

HOST, PORT, VERSION, TRANSPORT = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
PROTOCOL = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}[VERSION]
V5 = PROTOCOL == mqtt.MQTTv5
ROOT = "interop/paho-python/" + uuid.uuid4().hex[:8]
SECONDS = 10


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def same(actual, expected, what):
    check(actual == expected, f"{what}: {actual!r} instead of {expected!r}")


def new_id():
    return "py" + uuid.uuid4().hex[:12]


def properties(packet, **values):
    made = Properties(packet)
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Client:
    """One connection; what comes waits in a queue."""

    def __init__(self, client_id=None, clean=True, expiry=0, will=None):
        self.messages = queue.Queue()
        self.answers = queue.Queue()
        self.closed = threading.Event()
        clean_session = {} if V5 else {"clean_session": clean}
        self.mqtt = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id or new_id(),
            protocol=PROTOCOL,
            transport="websockets" if TRANSPORT == "ws" else "tcp",
            reconnect_on_failure=False,
            **clean_session,
        )
        if TRANSPORT == "ws":
            self.mqtt.ws_set_options(path="/mqtt")
        if will:
            self.mqtt.will_set(will, b"gone", qos=1)
        self.mqtt.on_connect = lambda _c, _u, flags, code, props: self.answers.put((flags, code, props))
        self.mqtt.on_message = lambda _c, _u, message: self.messages.put(message)
        self.mqtt.on_subscribe = lambda _c, _u, _mid, codes, _p: self.answers.put(codes)
        self.mqtt.on_disconnect = lambda *_: self.closed.set()
        arguments = {}
        if V5:
            arguments["clean_start"] = clean
            arguments["properties"] = properties(PacketTypes.CONNECT, SessionExpiryInterval=expiry)
        self.mqtt.connect(HOST, PORT, 30, **arguments)
        self.mqtt.loop_start()
        flags, code, self.connack = self.answer("CONNACK")
        same(code.value, 0, "CONNACK code")
        self.session_present = flags.session_present

    def answer(self, what):
        try:
            return self.answers.get(timeout=SECONDS)
        except queue.Empty:
            raise Failure(f"no {what}") from None

    def subscribe(self, topic, qos=2, **values):
        props = properties(PacketTypes.SUBSCRIBE, **values) if V5 and values else None
        options = SubscribeOptions(qos=qos) if V5 else None
        if V5:
            self.mqtt.subscribe(topic, options=options, properties=props)
        else:
            self.mqtt.subscribe(topic, qos)
        same([code.value for code in self.answer("SUBACK")], [qos], "SUBACK codes")

    def publish(self, topic, payload, qos=1, retain=False, **values):
        props = properties(PacketTypes.PUBLISH, **values) if V5 and values else None
        info = self.mqtt.publish(topic, payload, qos, retain, props)
        info.wait_for_publish(SECONDS)
        check(info.is_published(), f"no acknowledgement for QoS {qos} on {topic}")

    def next(self):
        try:
            return self.messages.get(timeout=SECONDS)
        except queue.Empty:
            raise Failure("a message did not come") from None

    def nothing_before(self, topic):
        """What was sent before the broker answers this round trip has come."""
        self.subscribe(topic + "/fence", 0)
        self.publish(topic + "/fence", b"fence", 0)
        same(self.next().payload, b"fence", "a message that should not come")

    def lose(self):
        """Ends the connection without DISCONNECT."""
        # By another handle: what the client wraps a WebSocket in has no shutdown.
        with socket.socket(fileno=os.dup(self.mqtt.socket().fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)
        self.stop()

    def end(self):
        self.mqtt.disconnect()
        self.stop()

    def stop(self):
        check(self.closed.wait(SECONDS), "the connection did not end")
        # Paho looks whether its thread is there, and then waits for it: in between it may have ended and be gone.
        with contextlib.suppress(AttributeError):
            self.mqtt.loop_stop()


def connect():
    Client().end()


def round_trip():
    client, topic = Client(), ROOT + "/round-trip"
    client.subscribe(topic + "/+")
    for qos in (0, 1, 2):
        for i in range(20):
            client.publish(f"{topic}/{qos}", str(i).encode(), qos)
        for i in range(20):
            message = client.next()
            same((message.qos, message.payload, message.retain), (qos, str(i).encode(), False), f"QoS {qos}, message {i}")
    client.end()


def unicode_topic():
    client, topic = Client(), ROOT + "/Grüße/日本語/🦆"
    client.subscribe(topic)
    client.publish(topic, "Ente 🦆".encode())
    message = client.next()
    same((message.topic, message.payload.decode()), (topic, "Ente 🦆"), "message")
    client.end()


def large_payload():
    client, topic = Client(), ROOT + "/large"
    payload = bytes(i * 31 % 251 for i in range(500_000))
    client.subscribe(topic)
    for qos in (0, 1, 2):
        client.publish(topic, payload, qos)
        check(client.next().payload == payload, f"the payload of QoS {qos} has changed")
    client.end()


def retained():
    client, topic = Client(), ROOT + "/retained"
    client.publish(topic, b"kept", 1, True)
    client.subscribe(topic)
    message = client.next()
    same((message.payload, message.retain), (b"kept", True), "retained message")
    client.publish(topic, b"live", 2, True)
    message = client.next()
    same((message.payload, message.retain), (b"live", False), "live message")
    client.publish(topic, b"", 1, True)
    same(client.next().payload, b"", "removal")
    late = Client()
    late.subscribe(topic)
    late.nothing_before(topic)
    late.end()
    client.end()


def will():
    watcher, topic = Client(), ROOT + "/will"
    watcher.subscribe(topic)
    Client(will=topic).lose()
    same(watcher.next().payload, b"gone", "will")
    Client(will=topic).end()
    watcher.nothing_before(topic)
    watcher.end()


def session():
    client_id, topic, sender = new_id(), ROOT + "/session", Client()
    first = Client(client_id, clean=False, expiry=600)
    check(not first.session_present, "a session that nobody opened")
    first.subscribe(topic)
    first.end()
    for i in range(30):
        sender.publish(topic, str(i).encode(), 1 + i % 2)
    again = Client(client_id, clean=False, expiry=600)
    check(VERSION == "3.1" or again.session_present, "no session present")
    # Order holds for messages of one QoS.
    got = [again.next() for _ in range(30)]
    for qos in (1, 2):
        sent = [str(i).encode() for i in range(30) if 1 + i % 2 == qos]
        same([message.payload for message in got if message.qos == qos], sent, f"queued messages of QoS {qos}")
    again.end()
    fresh = Client(client_id, clean=True)
    check(not fresh.session_present, "a session after clean start")
    fresh.nothing_before(topic)
    fresh.end()
    sender.end()


def user_properties():
    client, topic = Client(), ROOT + "/properties"
    client.subscribe(topic)
    pairs = [("b", "1"), ("a", "2"), ("b", "3"), ("ü", "🦆")]
    client.publish(topic, b"x", UserProperty=pairs, ContentType="text/plain", PayloadFormatIndicator=1)
    got = client.next().properties
    same(got.UserProperty, pairs, "user properties")
    same((got.ContentType, got.PayloadFormatIndicator), ("text/plain", 1), "content type and format")
    client.end()


def expiry():
    client, topic = Client(), ROOT + "/expiry"
    client.publish(topic, b"x", 1, True, MessageExpiryInterval=100)
    client.subscribe(topic)
    left = client.next().properties.MessageExpiryInterval
    check(90 <= left <= 100, f"message expiry {left} instead of 100 or a little less")
    client.publish(topic, b"", 1, True)
    client.end()


def subscription_identifier():
    client, topic = Client(), ROOT + "/identifier"
    client.subscribe(topic, SubscriptionIdentifier=268_435_455)
    client.publish(topic, b"x")
    same(client.next().properties.SubscriptionIdentifier, [268_435_455], "subscription identifiers")
    client.end()


def topic_alias():
    client, topic = Client(), ROOT + "/alias"
    check(getattr(client.connack, "TopicAliasMaximum", 0) > 0, "the broker takes no topic alias")
    client.subscribe(topic)
    client.publish(topic, b"0", TopicAlias=1)
    client.publish("", b"1", TopicAlias=1)
    for payload in (b"0", b"1"):
        message = client.next()
        same((message.topic, message.payload), (topic, payload), "message by alias")
    client.end()


def shared_subscription():
    members, sender, topic = [Client(), Client()], Client(), ROOT + "/shared"
    for member in members:
        member.subscribe(f"$share/group/{topic}")
    for i in range(40):
        sender.publish(topic, str(i).encode())
    got = []
    for member in members:
        member.subscribe(topic + "/fence")
    sender.publish(topic + "/fence", b"fence")
    for member in members:
        while (message := member.next()).payload != b"fence":
            got.append(int(message.payload))
    same(sorted(got), list(range(40)), "messages of the group")
    for client in (*members, sender):
        client.end()


def request_response():
    asker, answerer, topic = Client(), Client(), ROOT + "/request"
    answerer.subscribe(topic)
    asker.subscribe(topic + "/response")
    asker.publish(topic, b"6*7", ResponseTopic=topic + "/response", CorrelationData=b"\x00\x01\xff")
    request = answerer.next()
    answerer.publish(request.properties.ResponseTopic, b"42", CorrelationData=request.properties.CorrelationData)
    response = asker.next()
    same((response.payload, response.properties.CorrelationData), (b"42", b"\x00\x01\xff"), "response")
    asker.end()
    answerer.end()


STEPS = [connect, round_trip, unicode_topic, large_payload, retained, will, session]
STEPS_V5 = [user_properties, expiry, subscription_identifier, topic_alias, shared_subscription, request_response]


def main():
    for step in STEPS + (STEPS_V5 if V5 else []):
        name = step.__name__.replace("_", "-")
        try:
            step()
        except Exception as failure:
            print(f"failed {name}: {type(failure).__name__}: {failure}", file=sys.stderr)
            sys.exit(1)
        print(f"ok {name}")


main()
