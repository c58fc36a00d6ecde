//! The scenario of ../README.md through rumqttc: interop HOST PORT VERSION TRANSPORT

mod connection;

use connection::{Client, Options, Properties};
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the broker is, and how to speak to it.
pub struct Place {
    host: String,
    port: u16,
    v5: bool,
    websocket: bool,
    root: String,
}

impl Place {
    /// What rumqttc wants as the host: for WebSocket, the whole address.
    fn address(&self) -> String {
        if self.websocket { format!("ws://{}:{}/mqtt", self.host, self.port) } else { self.host.clone() }
    }
}

pub fn new_id() -> String {
    format!("rs{:x}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos())
}

pub fn check(condition: bool, what: &str) {
    if !condition {
        panic!("{what}");
    }
}

fn same<T: PartialEq + Debug>(actual: T, expected: T, what: &str) {
    check(actual == expected, &format!("{what}: {actual:?} instead of {expected:?}"));
}

pub async fn in_time<F: Future>(what: &str, coming: F) -> F::Output {
    match tokio::time::timeout(Duration::from_secs(10), coming).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come"),
    }
}

async fn open(place: &Place) -> Client {
    Client::open(place, Options::default()).await
}

async fn connect(place: &Place) {
    open(place).await.end().await;
}

async fn round_trip(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/round-trip", place.root));
    client.subscribe(&format!("{topic}/+"), 2).await;
    for qos in 0..3 {
        for i in 0..20 {
            client.publish(&format!("{topic}/{qos}"), i.to_string().as_bytes(), qos, false).await;
        }
        for i in 0..20 {
            let got = client.next().await;
            same((got.qos, got.payload, got.retained), (qos, i.to_string().into_bytes(), false), "message");
        }
    }
    client.end().await;
}

async fn unicode_topic(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/Grüße/日本語/🦆", place.root));
    client.subscribe(&topic, 2).await;
    client.publish(&topic, "Ente 🦆".as_bytes(), 1, false).await;
    let got = client.next().await;
    same((got.topic, got.payload), (topic, "Ente 🦆".as_bytes().to_vec()), "message");
    client.end().await;
}

async fn large_payload(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/large", place.root));
    let payload: Vec<u8> = (0..500_000u32).map(|i| (i * 31 % 251) as u8).collect();
    client.subscribe(&topic, 2).await;
    for qos in 0..3 {
        client.publish(&topic, &payload, qos, false).await;
        check(client.next().await.payload == payload, &format!("the payload of QoS {qos} has changed"));
    }
    client.end().await;
}

async fn retained(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/retained", place.root));
    client.publish(&topic, b"kept", 1, true).await;
    client.subscribe(&topic, 2).await;
    let got = client.next().await;
    same((got.payload, got.retained), (b"kept".to_vec(), true), "retained message");
    client.publish(&topic, b"live", 2, true).await;
    let got = client.next().await;
    same((got.payload, got.retained), (b"live".to_vec(), false), "live message");
    client.publish(&topic, b"", 1, true).await;
    check(client.next().await.payload.is_empty(), "the removal has a payload");
    let mut late = open(place).await;
    late.subscribe(&topic, 2).await;
    late.nothing_before(&topic).await;
    late.end().await;
    client.end().await;
}

async fn will(place: &Place) {
    let (mut watcher, topic) = (open(place).await, format!("{}/will", place.root));
    watcher.subscribe(&topic, 2).await;
    Client::open(place, Options { will: Some(topic.clone()), ..Options::default() }).await.lose().await;
    same(watcher.next().await.payload, b"gone".to_vec(), "will");
    Client::open(place, Options { will: Some(topic.clone()), ..Options::default() }).await.end().await;
    watcher.nothing_before(&topic).await;
    watcher.end().await;
}

async fn session(place: &Place) {
    let (mut sender, topic, id) = (open(place).await, format!("{}/session", place.root), new_id());
    let durable = || Options { id: Some(id.clone()), durable: true, will: None };
    let mut first = Client::open(place, durable()).await;
    check(!first.session_present, "a session that nobody opened");
    first.subscribe(&topic, 2).await;
    first.end().await;
    for i in 0..30u8 {
        sender.publish(&topic, &[i], 1 + i % 2, false).await;
    }
    let mut again = Client::open(place, durable()).await;
    check(again.session_present, "no session present");
    let mut got = vec![];
    for _ in 0..30 {
        let one = again.next().await;
        got.push((one.qos, one.payload[0]));
    }
    // Order holds for messages of one QoS.
    for qos in 1..3 {
        let sent: Vec<u8> = (0..30).filter(|i| 1 + i % 2 == qos).collect();
        let of_qos: Vec<u8> = got.iter().filter(|one| one.0 == qos).map(|one| one.1).collect();
        same(of_qos, sent, "queued messages");
    }
    again.end().await;
    let mut fresh = Client::open(place, Options { id: Some(id.clone()), ..Options::default() }).await;
    check(!fresh.session_present, "a session after clean start");
    fresh.nothing_before(&topic).await;
    fresh.end().await;
    sender.end().await;
}

async fn user_properties(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/properties", place.root));
    client.subscribe(&topic, 2).await;
    let pairs = [("b", "1"), ("a", "2"), ("b", "3"), ("ü", "🦆")].map(|(key, value)| (key.to_string(), value.to_string()));
    let properties = Properties {
        user_properties: pairs.to_vec(),
        content_type: Some("text/plain".to_string()),
        payload_format_indicator: Some(1),
        ..Properties::default()
    };
    client.publish_with(&topic, b"x", 1, false, properties.clone()).await;
    same(client.next().await.properties, properties, "properties");
    client.end().await;
}

async fn expiry(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/expiry", place.root));
    let properties = Properties { message_expiry_interval: Some(100), ..Properties::default() };
    client.publish_with(&topic, b"x", 1, true, properties).await;
    client.subscribe(&topic, 2).await;
    let left = client.next().await.properties.message_expiry_interval;
    check(left.is_some_and(|seconds| (90..=100).contains(&seconds)), &format!("message expiry {left:?}"));
    client.publish(&topic, b"", 1, true).await;
    client.end().await;
}

async fn subscription_identifier(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/identifier", place.root));
    client.subscribe_with(&topic, 2, Some(268_435_455)).await;
    client.publish(&topic, b"x", 1, false).await;
    same(client.next().await.properties.subscription_identifiers, vec![268_435_455], "subscription identifiers");
    client.end().await;
}

async fn topic_alias(place: &Place) {
    let (mut client, topic) = (open(place).await, format!("{}/alias", place.root));
    check(client.topic_alias_maximum > 0, "the broker takes no topic alias");
    client.subscribe(&topic, 2).await;
    let alias = || Properties { topic_alias: Some(1), ..Properties::default() };
    client.publish_with(&topic, b"0", 1, false, alias()).await;
    client.publish_with("", b"1", 1, false, alias()).await;
    for payload in [b"0", b"1"] {
        let got = client.next().await;
        same((got.topic, got.payload), (topic.clone(), payload.to_vec()), "message by alias");
    }
    client.end().await;
}

async fn shared_subscription(place: &Place) {
    let (mut sender, topic) = (open(place).await, format!("{}/shared", place.root));
    let fence = format!("{topic}/fence");
    let mut members = [open(place).await, open(place).await];
    for member in &mut members {
        member.subscribe(&format!("$share/group/{topic}"), 2).await;
        member.subscribe(&fence, 2).await;
    }
    for i in 0..40u8 {
        sender.publish(&topic, &[i], 1, false).await;
    }
    sender.publish(&fence, b"fence", 1, false).await;
    let mut got = vec![];
    for mut member in members {
        loop {
            let payload = member.next().await.payload;
            if payload == b"fence" {
                break;
            }
            got.extend(payload);
        }
        member.end().await;
    }
    got.sort_unstable();
    same(got, (0..40).collect(), "messages of the group");
    sender.end().await;
}

async fn request_response(place: &Place) {
    let (mut asker, mut answerer) = (open(place).await, open(place).await);
    let topic = format!("{}/request", place.root);
    let response_topic = format!("{topic}/response");
    answerer.subscribe(&topic, 2).await;
    asker.subscribe(&response_topic, 2).await;
    let ask = Properties {
        response_topic: Some(response_topic),
        correlation_data: Some(vec![0, 1, 255].into()),
        ..Properties::default()
    };
    asker.publish_with(&topic, b"6*7", 1, false, ask).await;
    let request = answerer.next().await.properties;
    let answer = Properties { correlation_data: request.correlation_data, ..Properties::default() };
    answerer.publish_with(&request.response_topic.expect("a response topic"), b"42", 1, false, answer).await;
    let response = asker.next().await;
    let data = response.properties.correlation_data.map(|bytes| bytes.to_vec());
    same((response.payload, data), (b"42".to_vec(), Some(vec![0, 1, 255])), "response");
    asker.end().await;
    answerer.end().await;
}

/// Runs steps, each by its function's name.
macro_rules! steps {
    ($place:expr, $($step:ident),+) => {
        $(
            *STEP.lock().unwrap() = stringify!($step).replace('_', "-");
            $step($place).await;
            println!("ok {}", STEP.lock().unwrap());
        )+
    };
}

static STEP: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

#[tokio::main(flavor = "current_thread")]
async fn main() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("unknown");
        eprintln!("failed {}: {what}", STEP.lock().unwrap());
        std::process::exit(1);
    }));
    let arguments: Vec<String> = std::env::args().collect();
    let place = Place {
        host: arguments[1].clone(),
        port: arguments[2].parse().unwrap(),
        v5: arguments[3] == "5",
        websocket: arguments[4] == "ws",
        root: format!("interop/rumqttc/{}", new_id()),
    };
    let all = &place;
    steps!(all, connect, round_trip, unicode_topic, large_payload, retained, will, session);
    if place.v5 {
        steps!(all, user_properties, expiry, subscription_identifier, topic_alias, shared_subscription, request_response);
    }
}
