//! One connection of MQTT 3.1.1 or 5; what comes waits in a queue.

use crate::{check, in_time, Place};
use rumqttc::v5;
use rumqttc::v5::mqttbytes::v5 as p5;
use std::time::Duration;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

pub type Properties = p5::PublishProperties;

/// A message as both versions bring it.
pub struct Message {
    pub topic: String,
    pub payload: Vec<u8>,
    pub qos: u8,
    pub retained: bool,
    pub properties: Properties,
}

/// How to connect.
#[derive(Default)]
pub struct Options {
    pub id: Option<String>,
    /// The session outlives the connection, and is resumed.
    pub durable: bool,
    pub will: Option<String>,
}

enum Answer {
    Connack { session_present: bool, topic_alias_maximum: u16 },
    Suback(Option<u8>),
    Acknowledged,
}

enum Sender {
    V3(rumqttc::AsyncClient),
    V5(v5::AsyncClient),
}

pub struct Client {
    sender: Sender,
    messages: UnboundedReceiver<Message>,
    answers: UnboundedReceiver<Answer>,
    reader: JoinHandle<()>,
    pub session_present: bool,
    pub topic_alias_maximum: u16,
}

impl Client {
    pub async fn open(place: &Place, options: Options) -> Client {
        let (to_messages, messages) = unbounded_channel();
        let (to_answers, mut answers) = unbounded_channel();
        let id = options.id.clone().unwrap_or_else(crate::new_id);
        let (sender, reader) = if place.v5 {
            open_v5(place, id, options, to_messages, to_answers)
        } else {
            open_v3(place, id, options, to_messages, to_answers)
        };
        let first = in_time("CONNACK", answers.recv()).await;
        let Some(Answer::Connack { session_present, topic_alias_maximum }) = first else {
            panic!("no CONNACK with success");
        };
        Client { sender, messages, answers, reader, session_present, topic_alias_maximum }
    }

    pub async fn subscribe(&mut self, filter: &str, qos: u8) {
        self.subscribe_with(filter, qos, None).await;
    }

    pub async fn subscribe_with(&mut self, filter: &str, qos: u8, identifier: Option<usize>) {
        match &self.sender {
            Sender::V3(client) => client.subscribe(filter, rumqttc::qos(qos).unwrap()).await.unwrap(),
            Sender::V5(client) => {
                let properties = p5::SubscribeProperties { id: identifier, user_properties: vec![] };
                client.subscribe_with_properties(filter, v5::mqttbytes::qos(qos).unwrap(), properties).await.unwrap();
            }
        }
        let answer = in_time("SUBACK", self.answers.recv()).await;
        check(matches!(answer, Some(Answer::Suback(granted)) if granted == Some(qos)), "SUBACK with another code");
    }

    pub async fn publish(&mut self, topic: &str, payload: &[u8], qos: u8, retain: bool) {
        self.publish_with(topic, payload, qos, retain, Properties::default()).await;
    }

    pub async fn publish_with(&mut self, topic: &str, payload: &[u8], qos: u8, retain: bool, properties: Properties) {
        match &self.sender {
            Sender::V3(client) => client.publish(topic, rumqttc::qos(qos).unwrap(), retain, payload).await.unwrap(),
            Sender::V5(client) => {
                let qos = v5::mqttbytes::qos(qos).unwrap();
                client.publish_with_properties(topic, qos, retain, payload.to_vec(), properties).await.unwrap();
            }
        }
        if qos > 0 {
            let answer = in_time("an acknowledgement", self.answers.recv()).await;
            check(matches!(answer, Some(Answer::Acknowledged)), "something else than an acknowledgement");
        }
    }

    pub async fn next(&mut self) -> Message {
        in_time("a message", self.messages.recv()).await.expect("the connection ended")
    }

    /// Makes a round trip: what was sent before the broker answers it has come.
    pub async fn nothing_before(&mut self, topic: &str) {
        let fence = format!("{topic}/fence");
        self.subscribe(&fence, 0).await;
        self.publish(&fence, b"fence", 0, false).await;
        check(self.next().await.payload == b"fence", "a message that should not come");
    }

    /// Ends the connection without DISCONNECT.
    pub async fn lose(self) {
        self.reader.abort();
        let _ = self.reader.await; // it was aborted, and its socket with it
    }

    pub async fn end(self) {
        match &self.sender {
            Sender::V3(client) => client.disconnect().await.unwrap(),
            Sender::V5(client) => client.disconnect().await.unwrap(),
        }
        in_time("the end of the connection", self.reader).await.unwrap();
    }
}

const PACKET_MAX: u32 = 1 << 20;

fn open_v3(
    place: &Place,
    id: String,
    with: Options,
    messages: UnboundedSender<Message>,
    answers: UnboundedSender<Answer>,
) -> (Sender, JoinHandle<()>) {
    use rumqttc::{Event, Packet, SubscribeReasonCode};

    let mut options = rumqttc::MqttOptions::new(id, place.address(), place.port);
    options.set_keep_alive(Duration::from_secs(30));
    options.set_max_packet_size(PACKET_MAX as usize, PACKET_MAX as usize);
    options.set_clean_session(!with.durable);
    if place.websocket {
        options.set_transport(rumqttc::Transport::Ws);
    }
    if let Some(topic) = with.will {
        options.set_last_will(rumqttc::LastWill::new(topic, "gone", rumqttc::QoS::AtLeastOnce, false));
    }
    let (client, mut eventloop) = rumqttc::AsyncClient::new(options, 100);
    let reader = tokio::spawn(async move {
        // Polling again after an error would connect again.
        while let Ok(event) = eventloop.poll().await {
            let answer = match event {
                Event::Incoming(Packet::ConnAck(ack)) => {
                    Answer::Connack { session_present: ack.session_present, topic_alias_maximum: 0 }
                }
                Event::Incoming(Packet::SubAck(ack)) => Answer::Suback(match ack.return_codes[..] {
                    [SubscribeReasonCode::Success(qos)] => Some(qos as u8),
                    _ => None,
                }),
                Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) => Answer::Acknowledged,
                Event::Incoming(Packet::Publish(got)) => {
                    let _ = messages.send(Message {
                        topic: got.topic,
                        payload: got.payload.to_vec(),
                        qos: got.qos as u8,
                        retained: got.retain,
                        properties: Properties::default(),
                    });
                    continue;
                }
                _ => continue,
            };
            let _ = answers.send(answer); // nobody waits for it any more when the test has gone on
        }
    });
    (Sender::V3(client), reader)
}

fn open_v5(
    place: &Place,
    id: String,
    with: Options,
    messages: UnboundedSender<Message>,
    answers: UnboundedSender<Answer>,
) -> (Sender, JoinHandle<()>) {
    use p5::{Packet, SubscribeReasonCode};
    use v5::Event;

    let mut options = v5::MqttOptions::new(id, place.address(), place.port);
    options.set_keep_alive(Duration::from_secs(30));
    options.set_max_packet_size(Some(PACKET_MAX));
    options.set_clean_start(!with.durable);
    options.set_session_expiry_interval(with.durable.then_some(600));
    if place.websocket {
        options.set_transport(rumqttc::Transport::Ws);
    }
    if let Some(topic) = with.will {
        options.set_last_will(p5::LastWill::new(topic, "gone", v5::mqttbytes::QoS::AtLeastOnce, false, None));
    }
    let (client, mut eventloop) = v5::AsyncClient::new(options, 100);
    let reader = tokio::spawn(async move {
        while let Ok(event) = eventloop.poll().await {
            let answer = match event {
                Event::Incoming(Packet::ConnAck(ack)) => Answer::Connack {
                    session_present: ack.session_present,
                    topic_alias_maximum: ack.properties.and_then(|all| all.topic_alias_max).unwrap_or(0),
                },
                Event::Incoming(Packet::SubAck(ack)) => Answer::Suback(match ack.return_codes[..] {
                    [SubscribeReasonCode::Success(qos)] => Some(qos as u8),
                    _ => None,
                }),
                Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) => Answer::Acknowledged,
                Event::Incoming(Packet::Publish(got)) => {
                    let _ = messages.send(Message {
                        topic: String::from_utf8(got.topic.to_vec()).expect("a topic in UTF-8"),
                        payload: got.payload.to_vec(),
                        qos: got.qos as u8,
                        retained: got.retain,
                        properties: got.properties.unwrap_or_default(),
                    });
                    continue;
                }
                _ => continue,
            };
            let _ = answers.send(answer);
        }
    });
    (Sender::V5(client), reader)
}
