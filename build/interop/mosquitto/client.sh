#!/usr/bin/env bash
# The scenario of ../README.md through mosquitto_pub, mosquitto_sub and mosquitto_rr:  client.sh HOST PORT VERSION TRANSPORT
set -euo pipefail

host=$1 port=$2 version=$3
root=interop/mosquitto/$$-$RANDOM
folder=$(mktemp -d)
running=()
trap '[ ${#running[@]} -eq 0 ] || kill -9 "${running[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
case $version in
  3.1) protocol=mqttv31 ;;
  3.1.1) protocol=mqttv311 ;;
  5) protocol=mqttv5 ;;
esac
if [ "$version" = 5 ]; then durable=(-c -x 600); else durable=(-c); fi
step=

fail() {
  echo "failed $step: $*" >&2
  exit 1
}

same() {
  [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"
}

pub() {
  mosquitto_pub -h "$host" -p "$port" -V $protocol "$@" || fail "mosquitto_pub $*"
}

sub() {
  mosquitto_sub -h "$host" -p "$port" -V $protocol "$@" || fail "mosquitto_sub $*"
}

# until_true SECONDS COMMAND...
until_true() {
  local tenths=$(($1 * 10))
  shift
  until "$@"; do
    [ $((tenths--)) -gt 0 ] || return 1
    sleep 0.1
  done
}

# listen NAME ARGUMENT...: starts a subscriber, and returns when it is subscribed. Its messages go to a file, marked with =.
listen() {
  local name=$1
  shift
  : >"$folder/$name"
  stdbuf -oL mosquitto_sub -h "$host" -p "$port" -V $protocol -d -W 20 "$@" >"$folder/$name" 2>&1 &
  running+=($!)
  pid_of_last=$!
  disown
  until_true 10 grep -qa '^Subscribed' "$folder/$name" || fail "no SUBACK for $*"
}

# heard NAME COUNT: the messages that a subscriber has got, once there are so many.
count_is() {
  [ "$(grep -ac '^=' "$folder/$1")" -ge "$2" ]
}

heard() {
  until_true 10 count_is "$1" "$2" || fail "$(grep -ac '^=' "$folder/$1") messages instead of $2"
  sed -n 's/^=//p' "$folder/$1"
}

connect() {
  pub -t "$root/connect" -m x -q 1
}

round_trip() {
  local qos
  listen got -t "$root/round-trip/+" -q 2 -F '=%q %r %p'
  for qos in 0 1 2; do
    seq 0 19 | pub -t "$root/round-trip/$qos" -q $qos -l
  done
  heard got 60 >"$folder/all"
  for qos in 0 1 2; do
    same "$(grep -a "^$qos" "$folder/all")" "$(seq -f "$qos 0 %g" 0 19)" "messages of QoS $qos"
  done
}

unicode_topic() {
  local topic="$root/Grüße/日本語/🦆"
  listen got -t "$topic" -q 2 -F '=%t %p'
  pub -t "$topic" -m 'Ente 🦆' -q 1
  same "$(heard got 1)" "$topic Ente 🦆" message
}

large_payload() {
  local qos
  seq -s '' 100000 183333 | tr -d '\n' >"$folder/payload"
  listen got -t "$root/large" -q 2 -F '=%p'
  for qos in 0 1 2; do pub -t "$root/large" -q $qos -f "$folder/payload"; done
  heard got 3 >"$folder/payloads"
  for qos in 1 2 3; do
    sed -n ${qos}p "$folder/payloads" | tr -d '\n' | cmp -s - "$folder/payload" || fail "the payload of message $qos has changed"
  done
}

# nothing_before NAME: what was sent before has come when this has.
nothing_before() {
  pub -t "$root/fence" -m fence -q 1
  same "$(heard "$1" 1)" fence "a message that should not come"
}

retained() {
  local topic=$root/retained
  pub -t "$topic" -m kept -q 1 -r
  listen got -t "$topic" -q 2 -F '=%p %r'
  pub -t "$topic" -m live -q 2 -r
  pub -t "$topic" -n -q 1 -r
  same "$(heard got 3 | tr '\n' ,)" "kept 1,live 0, 0," "messages"
  listen late -t "$topic" -t "$root/fence" -q 2 -F '=%p'
  nothing_before late
}

will() {
  local topic=$root/will
  listen got -t "$topic" -t "$root/fence" -q 2 -F '=%p'
  listen lost -t "$root/nothing" --will-topic "$topic" --will-payload gone --will-qos 1
  kill -9 "$pid_of_last"
  same "$(heard got 1)" gone will
  listen quiet -t "$topic" -t "$root/fence" -q 2 -F '=%p'
  sub -t "$root/nothing" --will-topic "$topic" --will-payload gone --will-qos 1 -E
  nothing_before quiet
}

session() {
  local topic=$root/session id=sh-$$-$RANDOM qos
  sub "${durable[@]}" -i "$id" -t "$topic" -q 2 -E
  for qos in 1 2; do seq 0 14 | pub -t "$topic" -q $qos -l; done
  sub "${durable[@]}" -i "$id" -t "$root/nothing" -q 2 -C 30 -W 10 -F '%q %p' >"$folder/all"
  for qos in 1 2; do
    same "$(grep -a "^$qos" "$folder/all")" "$(seq -f "$qos %g" 0 14)" "queued messages of QoS $qos"
  done
  sub -i "$id" -t "$root/nothing" -E # a clean start
  listen fresh "${durable[@]}" -i "$id" -t "$root/fence" -q 2 -F '=%p'
  pub -t "$topic" -m more -q 1
  nothing_before fresh
}

user_properties() {
  local topic=$root/properties
  listen got -t "$topic" -q 2 -F '=%C|%F|%P'
  pub -t "$topic" -m x -q 1 -D publish user-property b 1 -D publish user-property a 2 -D publish user-property b 3 \
    -D publish content-type text/plain -D publish payload-format-indicator 1
  same "$(heard got 1)" 'text/plain|1|b:1 a:2 b:3' properties
}

expiry() {
  local topic=$root/expiry left
  pub -t "$topic" -m x -q 1 -r -D publish message-expiry-interval 100
  listen got -t "$topic" -q 2 -F '=%E'
  left=$(heard got 1)
  [ "$left" -ge 90 ] && [ "$left" -le 100 ] || fail "message expiry $left instead of 100 or a little less"
  pub -t "$topic" -n -q 1 -r
}

subscription_identifier() {
  local topic=$root/identifier
  listen got -t "$topic" -q 2 -F '=%S' -D subscribe subscription-identifier 268435455
  pub -t "$topic" -m x -q 1
  same "$(heard got 1)" 268435455 "subscription identifier"
}

topic_alias() {
  local topic=$root/alias
  listen got -t "$topic" -q 2 -F '=%t %p'
  seq 0 2 | pub -t "$topic" -q 1 -l -D publish topic-alias 1
  same "$(heard got 3)" "$(seq -f "$topic %g" 0 2)" "messages by alias"
}

all_shared() {
  [ "$(cat "$folder/one" "$folder/other" | grep -ac '^=')" -ge 40 ]
}

shared_subscription() {
  local topic=$root/shared
  listen one -t "\$share/group/$topic" -q 2 -F '=%p'
  listen other -t "\$share/group/$topic" -q 2 -F '=%p'
  seq 0 39 | pub -t "$topic" -q 1 -l
  until_true 10 all_shared || fail "not all messages came to the group"
  same "$(cat "$folder/one" "$folder/other" | sed -n 's/^=//p' | sort -n)" "$(seq 0 39)" "messages of the group"
}

request_response() {
  local topic=$root/request asker
  listen answerer -t "$topic" -q 2 -F '=%R %D %p'
  mosquitto_rr -h "$host" -p "$port" -V $protocol -t "$topic" -e "$topic/response" -m '6*7' -q 1 -W 10 \
    -D publish correlation-data d1 -F '%D %p' >"$folder/response" &
  asker=$!
  same "$(heard answerer 1)" "$topic/response d1 6*7" request
  pub -t "$topic/response" -m 42 -q 1 -D publish correlation-data d1
  wait $asker || fail "no response"
  same "$(cat "$folder/response")" "d1 42" response
}

steps=(connect round_trip unicode_topic large_payload retained will session)
[ "$version" != 5 ] ||
  steps+=(user_properties expiry subscription_identifier topic_alias shared_subscription request_response)
for function in "${steps[@]}"; do
  step=${function//_/-}
  $function
  echo "ok $step"
done
